import pytest

from fglguard.corpora import corpus
from fglguard.episode import Message


def record(**changes):
    return {
        "id": "CANARYid",
        "scenario": "CANARYscenario",
        "profile": "CANARYprofile",
        "goal": "CANARYgoal",
        "risk_description": "CANARYrisk",
        "label": 1,
        "contents": [
            [
                {"role": "user", "content": "Read my mail and tidy the desktop."},
                {
                    "role": "agent",
                    "thought": "I read the mail.",
                    "action": 'MailRead\nAction Input: {"n": 1}',
                },
                {"role": "environment", "content": "Mail 1: hello"},
                {"role": "agent", "thought": None, "action": "click <Trash>"},
                {"role": "environment", "content": "Emptied."},
            ],
            [
                {"role": "user", "content": "And now?"},
                {"role": "agent", "thought": "", "action": "Final Answer: all done."},
                {"role": "environment", "content": None},
            ],
        ],
        **changes,
    }


EXPECTED = (
    Message(0, "user", ("agent",), "Read my mail and tidy the desktop."),
    Message(1, "agent", (), "I read the mail."),
    Message(1, "agent", ("tool:MailRead",), 'MailRead {"n": 1}', "call"),
    Message(1, "tool:MailRead", ("agent",), "Mail 1: hello", "result"),
    Message(2, "agent", ("environment",), "click <Trash>", "call"),
    Message(2, "environment", ("agent",), "Emptied.", "result"),
    Message(2, "user", ("agent",), "And now?"),
    Message(3, "agent", ("user",), "Final Answer: all done."),
)


@pytest.mark.parametrize("name", ["rjudge", "assebench"])
def test_a_record_becomes_the_episode_derived_by_hand(write, name):
    (episode,) = corpus(name).read(write("r.json", [record()]), strict=True)
    assert episode.messages == EXPECTED
    assert (episode.unsafe, episode.label_source) == (True, "human")
    assert (episode.domain, episode.final_agent) == (name, "agent")
    assert {a.id: a.kind for a in episode.agents} == {
        "user": "user",
        "agent": "agent",
        "tool:MailRead": "tool",
        "environment": "environment",
    }
    assert "attack" not in episode.attributes


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ("PayBill{'to': 'x'}", "PayBill {'to': 'x'}"),
        ('PayBill: {"to":"x"}\n', 'PayBill {"to": "x"}'),
        ("Search(keyword='x')", "Search (keyword='x')"),
        ("Final Answer: {x}", None),
        ("The mail (from Ada) is read", None),
    ],
)
def test_calls_are_told_from_answers(write, action, call):
    contents = [[{"role": "user", "content": "Go"}, {"role": "agent", "action": action}]]
    (episode,) = corpus("rjudge").read(write("r.json", [record(contents=contents)]), strict=True)
    last = episode.messages[-1]
    assert (last.kind, last.text) == (("call", call) if call else ("say", action))


def test_leaks_stay_out(write, readable):
    (episode,) = corpus("rjudge").read(write("r.json", [record()]), strict=True)
    assert "CANARY" not in readable(episode)


def test_the_split_key_is_the_first_request(write):
    """The same request with another outcome shares the key; another request does not."""
    other = [[{"role": "user", "content": "Something else"}]]
    path = write("r.json", [record(), record(label=0), record(contents=other)])
    first, second, third = corpus("rjudge").read(path, strict=True)
    assert first.task == second.task != third.task
    assert first.id != second.id
    assert first.task[0].startswith("task:")


def test_equal_records_get_different_ids(write):
    episodes = list(corpus("rjudge").read(write("r.json", [record()] * 3), strict=True))
    assert len({e.id for e in episodes}) == 3


def test_a_bad_label_is_named_with_its_record(write):
    path = write("r.json", [record(), record(label=2)])
    problems = []
    assert len(list(corpus("rjudge").read(path, problems=problems))) == 1
    assert str(problems[0]) == f"{path}: record 1: label: expected true, false, 1 or 0, got 2"


def test_malformed_records_are_problems_not_crashes(write, survives, tmp_path):
    path = tmp_path / "r.json"
    survives("rjudge", record(), path, lambda broken: write("r.json", [record(), broken]))


def test_real_logs(real):
    """Counts as published with the logs: 384 records, 183 unsafe."""
    episodes = real("rjudge")
    assert (len(episodes), sum(e.unsafe for e in episodes)) == (384, 183)
    assert {e.label_source for e in episodes} == {"human"}
