from fglguard.corpora import corpus
from fglguard.episode import Message

FILE = "data/PI/quiz/graphs.json"


def record(**changes):
    return {
        "adj_matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]],
        "attacker_idxes": [1],
        "infected_idxes": [2],
        "system_prompts": ["CANARYhonest", "CANARYattacker", "CANARYhonest"],
        "question": "CANARYquestion",
        "correct_answer": "CANARYcorrect",
        "wrong_answer": ["CANARYwrong"],
        "communication_data": [
            [[0, "A"], [1, "B"], [2, ""]],
            [[0, "still A"], [1, "still B"], [2, "B then"]],
        ],
        **changes,
    }


def test_a_graph_becomes_the_episode_derived_by_hand(write):
    """adj_matrix[i][j] is 1 where j hears i: 0 is heard by 1 and 2, 1 by 2, 2 by nobody."""
    (episode,) = corpus("gsafeguard").read(write(FILE, [record()]), strict=True)
    assert episode.messages == (
        Message(0, "agent_0", ("agent_1", "agent_2"), "A"),
        Message(0, "agent_1", ("agent_2",), "B"),
        Message(1, "agent_0", ("agent_1", "agent_2"), "still A"),
        Message(1, "agent_1", ("agent_2",), "still B"),
        Message(1, "agent_2", (), "B then"),
    )
    assert [agent.unsafe for agent in episode.agents] == [False, True, False]
    assert (episode.unsafe, episode.label_source) == (True, "planted")
    assert episode.attributes["attack"] == "prompt_injection"


def test_leaks_stay_out(write, readable):
    """Who attacks is told by the label of the agents and by nothing else."""
    path = write(FILE, [record(), record(attacker_idxes=[0], infected_idxes=[])])
    first, second = corpus("gsafeguard").read(path, strict=True)
    assert "CANARY" not in readable(first)
    assert first.messages == second.messages
    assert first.final_agent == second.final_agent
    assert [a.id for a in first.agents] == [a.id for a in second.agents]


def test_every_agent_can_be_the_final_one(write):
    graphs = [record(communication_data=[[[0, f"{number}"]]]) for number in range(60)]
    finals = {e.final_agent for e in corpus("gsafeguard").read(write(FILE, graphs))}
    assert finals == {"agent_0", "agent_1", "agent_2"}


def test_planted_texts_name_the_attack(write):
    path = write("graphs.json", [record(adv_texts=["CANARYtext"]), record()])
    first, second = corpus("gsafeguard").read(path)
    assert first.attributes["attack"] == "memory_attack"
    assert second.attributes["attack"] == "planted"


def test_what_does_not_fit_is_named(write):
    cases = {
        "attacker_idxes[0]: expected an agent from 0 to 2, got 3": {"attacker_idxes": [3]},
        "attacker_idxes: expected at least one attacker, got none": {"attacker_idxes": []},
        "adj_matrix[0]: expected 1 values, got 2": {"adj_matrix": [[0, 1]]},
        "messages: expected at least one, got none": {"communication_data": [[[0, " "]]]},
    }
    path = write(FILE, [record(), *(record(**changes) for changes in cases.values())])
    problems = []
    assert len(list(corpus("gsafeguard").read(path, problems=problems))) == 1
    assert [problem.message for problem in problems] == list(cases)


def test_malformed_graphs_are_problems_not_crashes(write, survives, tmp_path):
    path = tmp_path / FILE
    survives("gsafeguard", record(), path, lambda broken: write(FILE, [record(), broken]))


def test_real_logs(real):
    """268 graphs are published, each with 1 to 4 attackers; in one of them nobody says a word."""
    problems = []
    episodes = real("gsafeguard", problems)
    assert len(episodes) + len(problems) == 268
    assert [problem.message for problem in problems] == [
        "messages: expected at least one, got none"
    ]
    assert all(e.unsafe and e.label_source == "planted" for e in episodes)
    assert {sum(a.unsafe for a in e.agents) for e in episodes} == {1, 2, 3, 4}
    assert {len(e.agents) for e in episodes} == {4, 8}
