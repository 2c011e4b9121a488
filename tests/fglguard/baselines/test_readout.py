"""Hand-made graphs: three agents with a tool; a user who is the final node; an agent alone."""

import numpy as np
import pytest

from fglguard.baselines.readout import flag_highest, graph_scores, judged_nodes
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import pack

USER, AGENT, TOOL = 0, 1, 2


def graph(kinds, final):
    none = np.zeros(0, np.int32)
    n = len(kinds)
    return EpisodeGraph(
        np.zeros((n, 1), np.float32),
        np.array(kinds, np.uint8),
        tuple("abcd"[:n]),
        none,
        none,
        final,
    )


GRAPHS = pack([graph([AGENT, TOOL, AGENT, AGENT], 2), graph([USER, TOOL], 0), graph([AGENT], 0)])
SCORES = np.array([0.2, 9.0, 0.5, 0.5, -1.0, 7.0, 0.3])


def test_agents_and_final_nodes_are_judged() -> None:
    assert judged_nodes(GRAPHS).tolist() == [True, False, True, True, True, False, True]


def test_graph_scores_ignore_what_is_not_judged() -> None:
    assert graph_scores(SCORES, GRAPHS).tolist() == [0.5, -1.0, 0.3]


def test_no_graphs_have_no_scores() -> None:
    assert len(graph_scores(np.zeros(0), GRAPHS.select([]))) == 0


def test_rows_of_a_graph_need_not_stand_together() -> None:
    """By hand: graph 7 has .1, .9, .9 and flags the first .9; graph 2 has one row."""
    graph, scores = np.array([7, 2, 7, 7]), np.array([0.1, 0.0, 0.9, 0.9])
    assert flag_highest(scores, graph, 1).tolist() == [False, True, True, False]
    assert flag_highest(scores, graph, 2).tolist() == [False, True, True, True]
    assert flag_highest(np.zeros(0), np.zeros(0, np.int64), 1).tolist() == []
    with pytest.raises(ValueError, match="expected at least 1, got 0"):
        flag_highest(scores, graph, 0)
