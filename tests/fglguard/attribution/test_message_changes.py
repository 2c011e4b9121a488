import numpy as np

from fglguard.attribution.message_changes import (
    MOST_EDGES,
    affordable_edges,
    nearest_edges,
    without_edge,
)
from fglguard.episode import Agent, Episode, Message

AGENTS = tuple(Agent(name, "agent") for name in "abc")


def episode(*messages):
    return Episode("e", "d", ("t",), AGENTS, messages, "a", None)


def test_a_message_to_one_is_gone_and_one_to_several_is_heard_by_the_others():
    alone = Message(0, "a", ("b",), "to b alone")
    both = Message(1, "a", ("b", "c"), "to both")
    back = Message(1, "b", ("a",), "to a")
    without = without_edge(episode(alone, both, back), "a", "b")
    assert without.messages == (Message(1, "a", ("c",), "to both"), back)


def test_the_only_message_stays_as_a_thought():
    assert without_edge(episode(Message(0, "a", ("b",), "hello")), "a", "b").messages == (
        Message(0, "a", (), "hello"),
    )


def test_edges_at_the_final_agent_are_looked_at_first():
    """Final 0. Edges 1 -> 2, 0 -> 1, 1 -> 0, 2 -> 0: those into 0, then out of it, then others."""
    src, dst = np.array([1, 0, 1, 2]), np.array([2, 1, 0, 0])
    for most, expected in ((1, [2]), (2, [2, 3]), (3, [1, 2, 3]), (4, [0, 1, 2, 3]), (9, range(4))):
        assert nearest_edges(src, dst, 0, most).tolist() == list(expected)
    assert nearest_edges(src[:0], dst[:0], 0, 9).tolist() == []


def test_fewer_edges_are_looked_at_where_much_is_said_to_many():
    """Three agents and 100 000 characters: 300 000 a graph, 16 of them within 5 million."""
    assert affordable_edges(episode(Message(0, "a", ("b",), "x" * 100_000))) == 16
    assert affordable_edges(episode(Message(0, "a", ("b",), "short"))) == MOST_EDGES
    long = [Message(0, "a", ("b",), "x" * 500_000) for _ in range(5)]
    assert affordable_edges(episode(*long)) == 1
