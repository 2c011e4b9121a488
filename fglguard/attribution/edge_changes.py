"""Which edges drove a score: the episode's logit with and without each."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fglguard.detector import Detector
from fglguard.packed_graphs import PackedGraphs, collate

MOST_NODES = 20_000
"""Nodes scored at once; an episode of n agents and e edges makes n * e."""

EDGE_TENSORS = ("src", "dst", "edge")
"""Fields of a batch with one row an edge, self-loops last."""


def edge_changes(detector: Detector, packed: PackedGraphs, graph: int) -> NDArray[np.float64]:
    r"""What each edge of one graph adds to the episode's logit, as the detector reads it out.

        change_e = logit(G) - logit(G without e)

    Positive where the edge makes the episode more suspect. It looks at outputs alone, so it holds
    for any detector, also where the edge lies several steps away; edges that can stand in for each
    other each show a small change. Node features and self-loops stay as they are: where node
    features tell what an agent was told, `message_changes.message_changes` is the one to ask.

    Args:
        detector: Left unchanged, in evaluation mode.
        packed: Graphs.
        graph: Which of them.

    Returns:
        [e] float64, in the order of the graph's edges.
    """
    edges = int(packed.edge_offsets[graph + 1] - packed.edge_offsets[graph])
    nodes = int(packed.nodes[graph])
    whole = _logits(detector, packed, graph, [None])[0]
    step = max(1, MOST_NODES // nodes)
    parts = [
        _logits(detector, packed, graph, list(range(first, min(first + step, edges))))
        for first in range(0, edges, step)
    ]
    without = torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)
    changes: NDArray[np.float64] = (whole - without).numpy()
    return changes


def _logits(
    detector: Detector, packed: PackedGraphs, graph: int, without: list[int | None]
) -> Tensor:
    """Logits of an episode in copies of its graph, each without one of its edges."""
    batch = collate(packed, [graph] * len(without))
    edges = int(packed.edge_offsets[graph + 1] - packed.edge_offsets[graph])
    # Copies' edges come one after the other, self-loops after all of them.
    gone = [copy * edges + edge for copy, edge in enumerate(without) if edge is not None]
    kept = torch.ones(len(batch.src), dtype=torch.bool)
    kept[gone] = False
    for name in EDGE_TENSORS:
        setattr(batch, name, getattr(batch, name)[kept])
    detector.eval()
    with torch.inference_mode():
        return detector.episode_logits(detector(batch), batch).double()
