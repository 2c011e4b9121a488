import pytest

from fglguard.corpora import corpus
from fglguard.episode import Message

FILE = "shield_results_prompt/some-model/results.json"


def record(**changes):
    call = {"id": "c1", "type": "function"}
    call["function"] = {"name": "transfer", "arguments": '{"amount": 5}'}
    return {
        "id": 410,
        "risks": ["CANARYrisks"],
        "instruction": "Pay Ada",
        "environments": [{"name": "CANARYenvironment"}],
        "failure_modes": "CANARYmodes",
        "dialog": ["CANARYdialog"],
        "input_prompts": "CANARYprompts",
        "shield_output": "CANARYshield",
        "pred_answer": "CANARYanswer",
        "pred_label": 1,
        "output": [
            {"role": "system", "content": "CANARYsystem"},
            {"role": "user", "content": "Pay Ada.\nHint: CANARYhint"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "content": "done", "tool_call_id": "c1", "name": "transfer"},
            {"role": "assistant", "content": "Paid."},
        ],
        **changes,
    }


def test_a_result_becomes_the_episode_derived_by_hand(write, tmp_path):
    write(FILE, [record()])
    (episode,) = corpus("agent_safetybench").read(tmp_path, strict=True)
    assert episode.messages == (
        Message(0, "user", ("agent",), "Pay Ada."),
        Message(1, "agent", ("tool:transfer",), 'transfer {"amount": 5}', "call"),
        Message(1, "tool:transfer", ("agent",), "done", "result"),
        Message(2, "agent", ("user",), "Paid."),
    )
    assert episode.task == ("task:410",)
    assert (episode.unsafe, episode.label_source) == (True, "judge")
    assert episode.attributes["agent_model"] == "some-model"
    assert episode.attributes["setting"] == "prompt"


def test_leaks_stay_out(write, tmp_path, readable):
    write(FILE, [record()])
    (episode,) = corpus("agent_safetybench").read(tmp_path, strict=True)
    assert "CANARY" not in readable(episode)
    assert "Hint" not in readable(episode)


def test_one_file_reads_as_its_folder_does(write, tmp_path):
    path = write(FILE, [record(), record(id=411, pred_label=0)])
    alone = list(corpus("agent_safetybench").read(path))
    within = list(corpus("agent_safetybench").read(tmp_path))
    assert [e.id for e in alone] == [e.id for e in within]
    assert [e.unsafe for e in alone] == [True, False]


@pytest.mark.parametrize("identity", [None, True, [1]])
def test_an_id_must_be_a_number_or_a_text(write, identity):
    problems = []
    path = write(FILE, [record(), record(id=identity)])
    assert len(list(corpus("agent_safetybench").read(path, problems=problems))) == 1
    assert "record 1: id: expected a number or a text" in str(problems[0])


def test_malformed_results_are_problems_not_crashes(write, survives, tmp_path):
    path = tmp_path / FILE
    survives("agent_safetybench", record(), path, lambda b: write(FILE, [record(), b]))


def test_real_logs(real):
    """Counts as published with the logs: 448 results, 129 unsafe, 56 tests, 4 models."""
    episodes = real("agent_safetybench")
    assert (len(episodes), sum(e.unsafe for e in episodes)) == (448, 129)
    assert {e.label_source for e in episodes} == {"judge"}
    assert len({e.task for e in episodes}) == 56
    assert len({e.attributes["agent_model"] for e in episodes}) == 4
    assert not any("\nHint:" in text for e in episodes for text in e.texts[:1])
