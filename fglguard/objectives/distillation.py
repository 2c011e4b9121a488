"""FGSSL's structural distillation: whom a node resembles, as the global model sees it."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fglguard.batching import batches
from fglguard.detector import Detector
from fglguard.objectives.objective import Objective
from fglguard.packed_graphs import GraphBatch, PackedGraphs


class EdgeDistillation(Objective):
    r"""Distil each node's distribution over its in-edges from the global model.

    After the structural half of FGSSL (Huang et al., Federated Graph Semantic and Structural
    Learning, IJCAI 2023); its semantic half, a contrast between nodes of unlike labels, is left out
    since all nodes of an episode share one label. With z the hidden node representations and T the
    temperature,

        P_j(i) = softmax over j's in-edges i -> j of cos(z_i, z_j) / T,
        term = mean over nodes j of KL(P_j under the global model || P_j in training).

    Self-loops count as in-edges. An agent of an episode often hears just one other; a softmax over
    one neighbour is 1 whatever the model does, so without its self-loop, whose cosine is always 1,
    such a node would teach nothing. A node that hears no one adds 0.

    The teacher's distributions do not change within a round and are computed once.

    Args:
        weight: Of the term in the loss.
        temperature: T.
    """

    def __init__(self, weight: float, temperature: float) -> None:
        self._weight, self._temperature = weight, temperature
        self.has_term = weight > 0
        self._edges: list[Tensor] = []
        self._loops: list[Tensor] = []

    def begin(self, detector: Detector, packed: PackedGraphs, chosen: NDArray[np.int64]) -> None:
        """Compute the teacher's log P, a graph at a time in the order of `chosen`."""
        if not self.has_term:
            return
        nodes = packed.nodes[chosen]
        edges = np.diff(packed.edge_offsets)[chosen]
        detector.eval()
        with torch.no_grad():
            for batch in batches(packed, chosen):
                part = slice(len(self._edges), len(self._edges) + batch.graphs)
                teacher = edge_log_distribution(detector.hidden(batch), batch, self._temperature)
                of_edges, of_loops = teacher.tensor_split([len(teacher) - len(batch.x)])
                self._edges += torch.split(of_edges, edges[part].tolist())
                self._loops += torch.split(of_loops, nodes[part].tolist())

    def term(self, hidden: Tensor, batch: GraphBatch, positions: NDArray[np.int64]) -> Tensor:
        """The weighted mean over the batch's nodes."""
        # As `collate` orders edges: those of every graph, then all self-loops.
        order = positions.tolist()
        teacher = torch.cat([self._edges[p] for p in order] + [self._loops[p] for p in order])
        student = edge_log_distribution(hidden, batch, self._temperature)
        divergence = (teacher.exp() * (teacher - student)).sum() / len(hidden)
        return self._weight * divergence


def edge_log_distribution(hidden: Tensor, batch: GraphBatch, temperature: float) -> Tensor:
    """Give log P_dst(src) of every edge, [E], in the batch's order of edges."""
    unit = functional.normalize(hidden, dim=1)
    cosine = (unit.index_select(0, batch.src) * unit.index_select(0, batch.dst)).sum(dim=1)
    # A self-loop's cosine, 1, is the largest: the shift keeps every power within [0, 1].
    logits = (cosine - 1) / temperature
    sums = logits.new_zeros(len(hidden)).scatter_add(0, batch.dst, logits.exp())
    return logits - sums.log().index_select(0, batch.dst)
