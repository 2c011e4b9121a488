"""MOON's model-contrastive term: towards the global model's view, away from one's previous."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fglguard.batching import batches
from fglguard.detector import Detector
from fglguard.objectives.objective import Hide, Objective, Outcome, unmasked
from fglguard.objectives.trainable import FlatVector
from fglguard.packed_graphs import GraphBatch, PackedGraphs
from fglguard.parameters import load_flat

PREVIOUS = "previous"
"""The client's parameters after its previous round, as kept."""


class ModelContrast(Objective):
    r"""Model-contrastive learning (Li et al., MOON, CVPR 2021, arXiv 2103.16257) on graphs.

    z is the mean of a graph's hidden node representations: under the model in training, under the
    global model it started from (z_glob), and under the client's model of its previous round
    (z_prev). With T the temperature the term is, averaged over a batch's graphs,

        -log( e^(cos(z, z_glob) / T) / (e^(cos(z, z_glob) / T) + e^(cos(z, z_prev) / T)) )
        = softplus((cos(z, z_prev) - cos(z, z_glob)) / T).

    z_glob and z_prev do not change within a round and are computed once. In a client's first round
    there is no previous model and no term; taking the global model for it, as the paper does, has
    the gradient 0.

    Args:
        weight: Of the term in the loss.
        temperature: T.
        previous: The client's previous parameters, float32 [P]; None in its first round.
    """

    kept = (PREVIOUS,)

    def __init__(self, weight: float, temperature: float, previous: FlatVector | None) -> None:
        self._weight, self._temperature = weight, temperature
        self._previous = previous
        self.has_term = previous is not None and weight > 0
        self._towards = self._away = torch.empty(0)

    def begin(self, detector: Detector, packed: PackedGraphs, chosen: NDArray[np.int64]) -> None:
        """Compute z_glob and z_prev of every chosen graph."""
        if not self.has_term:
            return
        assert self._previous is not None
        before = copy.deepcopy(detector)
        load_flat(before, self._previous, "the client's previous model")
        self._towards = _representations(detector, packed, chosen)
        self._away = _representations(before, packed, chosen)

    def term(self, hidden: Tensor, batch: GraphBatch, positions: NDArray[np.int64]) -> Tensor:
        """The weighted mean over the batch's graphs."""
        z, rows = graph_means(hidden, batch), torch.from_numpy(positions)
        away = functional.cosine_similarity(z, self._away[rows])
        towards = functional.cosine_similarity(z, self._towards[rows])
        return self._weight * functional.softplus((away - towards) / self._temperature).mean()

    def finish(self, detector: Detector, parameters: FlatVector, hide: Hide = unmasked) -> Outcome:
        """Keep the parameters for the next round."""
        return Outcome(state={PREVIOUS: parameters})


def graph_means(hidden: Tensor, batch: GraphBatch) -> Tensor:
    """Mean over each graph's nodes, [G, H] from [N, H]."""
    index = batch.graph.unsqueeze(-1).expand_as(hidden)
    sums = hidden.new_zeros(batch.graphs, hidden.shape[1]).scatter_add(0, index, hidden)
    return sums / torch.bincount(batch.graph, minlength=batch.graphs).unsqueeze(-1)


def _representations(detector: Detector, packed: PackedGraphs, chosen: NDArray[np.int64]) -> Tensor:
    detector.eval()
    with torch.no_grad():
        return torch.cat(
            [graph_means(detector.hidden(batch), batch) for batch in batches(packed, chosen)]
        )
