"""Pairs of nodes of one graph."""

import torch
from torch import Tensor

from fglguard.packed_graphs import GraphBatch


def pairs_within_graphs(batch: GraphBatch) -> tuple[Tensor, Tensor]:
    """All ordered pairs (i, j) of nodes of one graph, i = j included, sorted: [P] and [P]."""
    sizes = torch.bincount(batch.graph, minlength=batch.graphs)
    starts = (sizes.cumsum(0) - sizes)[batch.graph]
    counts = sizes[batch.graph]
    left = torch.repeat_interleave(torch.arange(len(batch.x)), counts)
    first = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    right = torch.arange(len(left)) - first + starts[left]
    return left, right
