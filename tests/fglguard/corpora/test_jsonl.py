from dataclasses import replace

import pytest

from fglguard.corpora import corpus
from fglguard.episode import Agent, Episode, Message, episode_to_record, write_episodes
from fglguard.episode_rules import MAX_TEXT_BYTES
from fglguard.errors import CorpusError

EPISODE = Episode(
    id="e1",
    domain="banking",
    task=("task:1",),
    agents=(Agent("u", "user"), Agent("a", "agent", True)),
    messages=(Message(0, "u", ("a",), "hi "), Message(1, "a", ("u",), "hello")),
    final_agent="a",
    unsafe=True,
    label_source="human",
    attributes={"attack": "none"},
)


def test_what_was_written_is_read_back(tmp_path):
    episodes = [EPISODE, replace(EPISODE, id="e2", unsafe=None, label_source=None)]
    write_episodes(tmp_path / "b" / "x.jsonl", episodes)
    assert list(corpus("jsonl").read(tmp_path, strict=True)) == episodes


def test_another_domain_can_be_asked_for(tmp_path):
    write_episodes(tmp_path / "x.jsonl", [EPISODE])
    (episode,) = corpus("jsonl").read(tmp_path, domain="slack")
    assert episode == replace(EPISODE, domain="slack")


def test_an_id_used_twice_is_a_problem_even_in_another_file(tmp_path):
    write_episodes(tmp_path / "x.jsonl", [EPISODE])
    write_episodes(tmp_path / "y.jsonl", [EPISODE])
    problems = []
    assert len(list(corpus("jsonl").read(tmp_path, problems=problems))) == 1
    assert str(problems[0]) == (
        f"{tmp_path / 'y.jsonl'}:1: id: 'e1' was already used in {tmp_path / 'x.jsonl'}:1"
    )


def test_overlong_texts_are_not_cut(write):
    record = episode_to_record(EPISODE)
    record["messages"][0]["text"] = "x" * (MAX_TEXT_BYTES + 1)
    path = write("x.jsonl", [record])
    with pytest.raises(CorpusError, match=r"x\.jsonl:1: episode: messages\[0\]\.text"):
        list(corpus("jsonl").read(path, strict=True))
