"""Readouts: from a logit a node to a logit an episode."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fglguard.detector_options import Readout
from fglguard.episode_rules import AGENT_KINDS

if TYPE_CHECKING:
    from fglguard.graph import EpisodeGraph
    from fglguard.packed_graphs import GraphBatch

_AGENT = AGENT_KINDS.index("agent")


def read_out(logits: Tensor, batch: "GraphBatch", readout: Readout) -> Tensor:
    """Logits of episodes, [G].

    `final` is the final agent's logit; `mean` and `max` run over an episode's nodes of the kind
    agent, or over all its nodes where it has no agent.

    Args:
        logits: Logits of nodes, [N].
        batch: Their graphs.
        readout: Which.
    """
    if readout == "final":
        return logits[batch.final]
    counted = _counted(batch)
    values, index = logits[counted], batch.graph[counted]
    if readout == "max":
        lowest = logits.new_full((batch.graphs,), -torch.inf)
        return lowest.scatter_reduce(0, index, values, "amax")
    sums = logits.new_zeros(batch.graphs).scatter_add(0, index, values)
    return sums / torch.bincount(index, minlength=batch.graphs)


def read_out_array(logits: NDArray[np.float64], graph: "EpisodeGraph", readout: Readout) -> float:
    """`read_out` for one graph.

    Args:
        logits: Logits of its nodes, [n].
        graph: The graph.
        readout: Which.
    """
    if readout == "final":
        return float(logits[graph.final])
    agents = graph.kind == _AGENT
    counted = logits[agents] if agents.any() else logits
    return float(counted.max() if readout == "max" else counted.mean())


def _counted(batch: "GraphBatch") -> Tensor:
    """Which nodes a mean or maximum runs over, [N] bool."""
    agents = batch.kind == _AGENT
    has_agents = torch.bincount(batch.graph[agents], minlength=batch.graphs) > 0
    return agents | ~has_agents[batch.graph]
