"""From the scores of a graph's nodes to the graph's score, and to the agents that are flagged."""

import numpy as np
from numpy.typing import NDArray

from fglguard.episode_rules import AGENT_KINDS
from fglguard.packed_graphs import PackedGraphs

_AGENT = AGENT_KINDS.index("agent")


def judged_nodes(graphs: PackedGraphs) -> NDArray[np.bool_]:
    """[N] the nodes that may be the attacker: agents, and each graph's final node.

    Users, tools and environments are heard, but it is an agent that a guard blocks.
    """
    judged: NDArray[np.bool_] = np.asarray(graphs.kind) == _AGENT
    judged[graphs.node_offsets[:-1] + graphs.final] = True
    return judged


def graph_scores(scores: NDArray[np.float64], graphs: PackedGraphs) -> NDArray[np.float64]:
    """[G] the largest score of each graph's judged nodes: how bad the worst agent is.

    Args:
        scores: [N], of all nodes.
        graphs: Whose nodes they are.
    """
    if not len(graphs):
        return np.zeros(0)
    judged = np.where(judged_nodes(graphs), scores, -np.inf)
    return np.maximum.reduceat(judged, graphs.node_offsets[:-1])


def flag_highest(
    scores: NDArray[np.float64], graph: NDArray[np.int64], count: int
) -> NDArray[np.bool_]:
    """[n] the `count` highest-scored rows of each graph: BlindGuard's rule (arXiv 2508.08127).

    It needs no threshold, but takes for granted how many attackers there are and flags as many
    in a graph without any. Of equal scores the row that comes first goes first; a graph with fewer
    rows has all of them flagged.

    Args:
        scores: [n], of rows that may be flagged.
        graph: [n] each row's graph, in any order.
        count: How many a graph.

    Raises:
        ValueError: `count` is below 1.
    """
    if count < 1:
        raise ValueError(f"count: expected at least 1, got {count}")
    codes, sizes = np.unique(graph, return_inverse=True, return_counts=True)[1:]
    order = np.lexsort((-scores, codes))
    rank = np.empty(len(scores), dtype=np.int64)
    rank[order] = np.arange(len(scores)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank < count
