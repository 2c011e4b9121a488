import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.episode import (
    Problem,
    encode_line,
    episode_from_record,
    episode_to_record,
    read_episodes,
    write_episodes,
)
from fglguard.episode_rules import MAX_TEXT_BYTES
from fglguard.errors import EpisodeError

RECORD = {
    "schema": 1,
    "id": "e1",
    "domain": "banking",
    "task": ["user:pay"],
    "agents": [
        {"id": "user", "kind": "user"},
        {"id": "agent", "kind": "agent", "unsafe": False},
    ],
    "messages": [
        {"round": 0, "sender": "user", "receivers": ["agent"], "text": "pay", "kind": "say"},
        {"round": 1, "sender": "agent", "receivers": ["user"], "text": "paid", "kind": "say"},
    ],
    "final_agent": "agent",
    "unsafe": False,
    "label_source": "human",
    "attributes": {"agent_model": "m"},
}


def changed(path, value):
    record = copy.deepcopy(RECORD)
    target = record
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return record


def test_a_record_comes_back_as_it_was():
    assert episode_to_record(episode_from_record(RECORD)) == RECORD


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=50).filter(str.strip)


@given(texts, texts, st.sampled_from([True, False, None]))
def test_any_text_survives_a_line_of_json(text, domain, unsafe):
    record = changed(["messages", 0, "text"], text)
    record |= {"domain": domain, "unsafe": unsafe}
    record["label_source"] = None if unsafe is None else "program"
    episode = episode_from_record(record)
    line = encode_line(episode)
    assert line.count(b"\n") == 1
    assert episode_from_record(json.loads(line)) == episode


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["schema"], 2, "schema: expected 1, got 2"),
        (["schema"], True, "schema: expected 1"),
        (["id"], "", "id: expected a non-empty"),
        (["id"], 7, "id: expected a non-empty"),
        (["domain"], None, "domain: expected"),
        (["task"], [], "task: expected at least one"),
        (["agents"], [], "agents: expected at least one"),
        (["agents"], "x", "agents: expected a list, got str"),
        (["agents", 0], "user", r"agents\[0\]: expected an object"),
        (["agents", 1, "id"], "user", r"agents\[1\].id: 'user' is used twice"),
        (["agents", 0, "kind"], "bot", r"agents\[0\].kind: expected one of user"),
        (["agents", 1, "unsafe"], "no", r"agents\[1\].unsafe: expected true, false or null"),
        (["messages"], [], "messages: expected at least one"),
        (["messages", 0], 3, r"messages\[0\]: expected an object"),
        (["messages", 1, "sender"], "ghost", r"messages\[1\].sender: 'ghost' is not one"),
        (["messages", 1, "receivers"], ["ghost"], r"messages\[1\].receivers: 'ghost' is not"),
        (["messages", 1, "receivers"], [["user"]], r"messages\[1\].receivers: .* is not one"),
        (["messages", 1, "receivers"], "user", r"messages\[1\].receivers: expected a list"),
        (["messages", 0, "round"], 5, r"messages\[1\].round: expected 5 or later"),
        (["messages", 0, "round"], -1, r"messages\[0\].round: expected 0 or later"),
        (["messages", 0, "round"], True, r"messages\[0\].round: expected a whole number"),
        (["messages", 0, "text"], " \n", r"messages\[0\].text: expected some text"),
        (["messages", 0, "text"], None, r"messages\[0\].text: expected a string"),
        (["messages", 0, "text"], "x" * (MAX_TEXT_BYTES + 1), "expected at most 524288 bytes"),
        (["messages", 0, "text"], "\ud800", "lone surrogate at character 0"),
        (["messages", 0, "kind"], "shout", r"messages\[0\].kind: expected one of say"),
        (["final_agent"], "ghost", "final_agent: expected the id of one"),
        (["final_agent"], None, "final_agent: expected a non-empty string, got None"),
        (["messages", 1, "round"], 2**63, "round: expected at most 1000000000, got 9223372036"),
        (["attributes"], {"split": "dev"}, "attributes.split: expected one of train, val, test"),
        (["unsafe"], 1, "unsafe: expected true, false or null"),
        (["unsafe"], None, "label_source: expected null"),
        (["label_source"], "rumour", "label_source: expected one of human"),
        (["attributes"], ["x"], "attributes: expected an object"),
        (["attributes"], {"n": 3}, "attributes.n: expected a string"),
    ],
)
def test_each_fault_is_named(path, value, told):
    with pytest.raises(EpisodeError, match=told):
        episode_from_record(changed(path, value))


def places(value, path=()):
    """Paths of every value within a record, at any depth."""
    if path:
        yield list(path)
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            yield from places(part, (*path, key))


SECRET = "the agent's own words " * 20
WRONG = [
    None, True, -1, 2**80, 1.5, math.nan, math.inf, "", "\ud800", SECRET, [], [[]], {}, {"a": [1]},
    [SECRET], {SECRET: SECRET},
]  # fmt: skip


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_no_json_value_anywhere_gets_past_or_is_quoted_whole(value):
    """Any value in any place gives an episode or an EpisodeError, which quotes little of it."""
    for path in places(RECORD):
        try:
            episode_from_record(changed(path, value))
        except EpisodeError as error:
            assert SECRET not in str(error), path
            assert len(str(error)) < 1000, path


def test_a_number_of_too_many_digits_is_named(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps(RECORD).replace('"round": 0', '"round": ' + "9" * 5000) + "\n")
    with pytest.raises(EpisodeError, match=r"episodes.jsonl:1: expected numbers of at most"):
        list(read_episodes(path, strict=True))


@pytest.mark.parametrize("record", [None, 3, "x", [RECORD]])
def test_anything_but_an_object_is_refused(record):
    with pytest.raises(EpisodeError, match="expected a JSON object"):
        episode_from_record(record)


def test_bad_lines_are_skipped_with_file_and_line(tmp_path):
    path = tmp_path / "episodes.jsonl"
    lines = [
        json.dumps(RECORD).encode(),
        b"",
        b"{broken",
        b'{"schema": 1, "id": "\xff"}',
        json.dumps(RECORD).encode(),
        json.dumps(RECORD | {"id": "e2"}).encode(),
        b"[" * 100_000,
    ]
    path.write_bytes(b"\n".join(lines))
    problems: list[Problem] = []
    assert [e.id for e in read_episodes(path, problems=problems)] == ["e1", "e2"]
    assert [p.where for p in problems] == [f"{path}:{n}" for n in (3, 4, 5, 7)]
    told = [p.message for p in problems]
    assert "broken JSON at column 2" in told[0]
    assert "expected UTF-8, got byte 0xff" in told[1]
    assert "already used in line 1" in told[2]


def test_strict_stops_at_the_first_bad_line(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b"{broken\n" + json.dumps(RECORD).encode())
    with pytest.raises(EpisodeError, match=r"episodes\.jsonl:1"):
        list(read_episodes(path, strict=True))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(EpisodeError, match=r"nothing\.jsonl: can't be read"):
        list(read_episodes(tmp_path / "nothing.jsonl"))


def test_written_files_are_the_owners_alone_and_whole_or_absent(tmp_path):
    path = tmp_path / "out" / "episodes.jsonl"
    episode = episode_from_record(RECORD)
    assert write_episodes(path, [episode]) == 1
    assert path.stat().st_mode & 0o777 == 0o600

    def failing():
        yield episode
        raise RuntimeError("source ended early")

    before = path.read_bytes()
    with pytest.raises(RuntimeError):
        write_episodes(path, failing())
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["episodes.jsonl"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_that_is_cut_off_is_broken_where_it_ends(tmp_path, end):
    """`{"schema": 1, "id"` has 18 characters: a colon is missed at column 19 of that line."""
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b'{"schema": 1, "id"' + end)
    with pytest.raises(EpisodeError, match=r":1: .* broken JSON at column 19 \(Expecting ':'"):
        list(read_episodes(path, strict=True))
