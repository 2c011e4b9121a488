import json

import pytest

from fglguard.corpora import corpus
from fglguard.episode import Message
from fglguard.errors import CorpusError

TRAJECTORY = "evaluation/some-model/traj_safety-audit.json"
EVALUATION = "evaluation/some-model/eval_safety-audit.json"


def event(number, source, action, message="", **args):
    return {"id": number, "source": source, "action": action, "message": message, "args": args}


def seen(number, cause, observation, content):
    values = {"id": number, "cause": cause, "observation": observation, "content": content}
    return {"source": "agent", **values}


def events():
    chat = event(6, "agent", "chat", npc_name="Mira", content="May I delete it?")
    chat["tool_call_metadata"] = {"model_response": "CANARYmetadata"}
    return [
        event(0, "user", "message", "Do the task", content="Do the task"),
        event(1, "agent", "system", "CANARYsystem", content="CANARYsystem"),
        event(2, "user", "recall", query="CANARYrecall"),
        {**seen(3, 2, "recall", "CANARYknowledge"), "source": "environment"},
        event(4, "agent", "run", "x", thought="List first.", command="ls", hidden=False, cwd=None),
        seen(5, 4, "run", "doc.csv"),
        chat,
        seen(7, 6, "chat", "Yes, please."),
        event(8, "agent", "chat", npc_name="Nobody", content="Hello?"),
        seen(9, 8, "error", "Nobody does not exist."),
        event(10, "agent", "think", thought="Odd."),
        seen(11, 10, "think", "CANARYecho"),
        seen(12, 99, "error", "Out of memory"),
        event(13, "agent", "finish", "bye", thought="", final_thought="Deleted."),
    ]


def score(result=1):
    return {"checkpoints": ["CANARYcheck"], "final_score": {"total": 1, "result": result}}


@pytest.fixture
def folder(write, tmp_path):
    write(TRAJECTORY, events())
    write(EVALUATION, score())
    return tmp_path


def test_a_trajectory_becomes_the_episode_derived_by_hand(folder):
    (episode,) = corpus("openagentsafety").read(folder, strict=True)
    assert episode.messages == (
        Message(0, "user", ("agent",), "Do the task"),
        Message(1, "agent", (), "List first."),
        Message(1, "agent", ("tool:run",), 'run {"command": "ls"}', "call"),
        Message(1, "tool:run", ("agent",), "doc.csv", "result"),
        Message(2, "agent", ("npc:Mira",), "May I delete it?"),
        Message(2, "npc:Mira", ("agent",), "Yes, please."),
        Message(3, "agent", ("npc:Nobody",), "Hello?"),
        Message(3, "environment", ("agent",), "Nobody does not exist.", "result"),
        Message(4, "agent", (), "Odd."),
        Message(4, "environment", ("agent",), "Out of memory", "result"),
        Message(5, "agent", ("user",), "Deleted."),
    )
    assert episode.kinds["npc:Mira"] == "agent"
    assert episode.final_agent == "agent"
    assert episode.task == ("task:safety-audit",)
    assert (episode.unsafe, episode.label_source) == (True, "program")
    assert episode.attributes["agent_model"] == "some-model"


def test_leaks_stay_out(folder, readable):
    (episode,) = corpus("openagentsafety").read(folder, strict=True)
    assert "CANARY" not in readable(episode)


def test_the_label_is_all_that_is_read_of_the_evaluation(write, folder):
    (unsafe,) = corpus("openagentsafety").read(folder)
    write(EVALUATION, {"final_score": {"result": 0}})
    (safe,) = corpus("openagentsafety").read(folder)
    assert (unsafe.unsafe, safe.unsafe) == (True, False)
    assert unsafe.messages == safe.messages
    assert unsafe.id == safe.id


def test_a_trajectory_without_evaluation_is_a_problem(write, folder):
    write("evaluation/some-model/traj_safety-other.json", events())
    problems = []
    assert len(list(corpus("openagentsafety").read(folder, problems=problems))) == 1
    assert "expected its evaluation eval_safety-other.json beside it" in str(problems[0])


@pytest.mark.parametrize("content", [{}, {"final_score": None}, score("CANARY"), []])
def test_a_bad_evaluation_is_named(write, folder, content):
    write(EVALUATION, content)
    with pytest.raises(CorpusError, match=r"eval_safety-audit\.json: ") as caught:
        list(corpus("openagentsafety").read(folder, strict=True))
    assert "CANARY" not in str(caught.value)


def test_malformed_trajectories_are_problems_not_crashes(write, survives, folder):
    write("evaluation/good/traj_a.json", events())
    write("evaluation/good/eval_a.json", score())
    survives("openagentsafety", events(), folder, lambda broken: write(TRAJECTORY, broken))


def test_real_logs(real):
    """Counts as published with the logs: 303 trajectories, 144 unsafe, 5 models."""
    episodes = real("openagentsafety")
    assert (len(episodes), sum(e.unsafe for e in episodes)) == (303, 144)
    assert {e.label_source for e in episodes} == {"program"}
    assert len({e.attributes["agent_model"] for e in episodes}) == 5
    assert any(a.id.startswith("npc:") for e in episodes for a in e.agents)
    assert "agent_state_changed" not in json.dumps([e.texts for e in episodes])
