from collections import Counter

from fglguard.corpora import corpus

CLEAN = "quiz/clean/quiz_100_3_3_0.jsonl"
PLANTED = "quiz/adv/adv_quiz_100_3_3_1_0.jsonl"


def record(number=0, planted=False):
    logs = []
    for log in range(3):
        messages = [{"role": "user", "content": "CANARYprompt"}]
        if planted and log == 0:
            messages.insert(0, {"role": "system", "content": "CANARYadversary"})
        for turn in range(3):
            messages.append({"role": "assistant", "content": f"says {number} log{log} turn{turn}"})
            messages.append({"role": "user", "content": "CANARYothers"})
        logs.append(messages)
    question = f"CANARYquestion {number}"
    values = {"id": "CANARYid", "answer": "CANARYanswer", "raw_task": ["CANARYtask"]}
    return {"question": question, "agent_responses": logs, **values}


def test_a_debate_is_three_rounds_in_which_everyone_hears_everyone(write):
    (episode,) = corpus("debate").read(write(CLEAN, [record()]), strict=True)
    assert [m.round for m in episode.messages] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for message in episode.messages:
        assert {message.sender, *message.receivers} == {"agent_0", "agent_1", "agent_2"}
        assert len(message.receivers) == 2
        assert message.text.endswith(f"turn{message.round}")
        assert message.kind == "say"
    for agent in episode.agents:
        said = {m.text.split()[2] for m in episode.messages if m.sender == agent.id}
        assert len(said) == 1
        assert (agent.kind, agent.unsafe) == ("agent", False)
    assert (episode.unsafe, episode.label_source) == (False, "planted")
    assert episode.attributes["attack"] == "none"
    assert episode.attributes["suite"] == "quiz"


def test_the_adversary_is_labelled_and_its_file_is_unsafe(write):
    (episode,) = corpus("debate").read(write(PLANTED, [record(planted=True)]), strict=True)
    assert episode.unsafe is True
    assert episode.attributes["attack"] == "adversary"
    (adversary,) = [agent.id for agent in episode.agents if agent.unsafe]
    assert all("log0" in m.text for m in episode.messages if m.sender == adversary)


def test_leaks_stay_out(write, tmp_path, readable):
    """Nothing but the label tells the two files' episodes apart, if the same was said."""
    write(PLANTED, [record(planted=True)])
    write(CLEAN, [record()])
    planted, clean = corpus("debate").read(tmp_path, strict=True)
    assert planted.unsafe
    assert not clean.unsafe
    assert "CANARY" not in readable(planted) + readable(clean)
    assert "adv" not in readable(planted)
    assert planted.messages == clean.messages
    assert planted.final_agent == clean.final_agent
    assert planted.task == clean.task


def test_neither_place_nor_final_agent_reveals_the_adversary(write):
    """300 debates: each place holds the adversary in about 100 (sd 8.2), within 5 sd."""
    records = [record(number, planted=True) for number in range(300)]
    places, final = Counter(), 0
    for episode in corpus("debate").read(write(PLANTED, records), strict=True):
        (adversary,) = [agent.id for agent in episode.agents if agent.unsafe]
        places[adversary] += 1
        final += adversary == episode.final_agent
    assert all(59 < places[f"agent_{place}"] < 141 for place in range(3))
    assert 59 < final < 141


def test_malformed_debates_are_problems_not_crashes(write, survives, tmp_path):
    path = tmp_path / CLEAN
    survives("debate", record(), path, lambda broken: write(CLEAN, [record(), broken]))


def test_real_logs(real):
    """Counts as published with the logs: 124 clean debates and 124 with an adversary."""
    episodes = real("debate")
    assert (len(episodes), sum(e.unsafe for e in episodes)) == (248, 124)
    assert {e.label_source for e in episodes} == {"planted"}
    assert {len(e.messages) for e in episodes} == {9}
    assert set(Counter(e.task for e in episodes).values()) == {2}
