"""What unsupervised guards have in common: trained on graphs, labels never looked at."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from fglguard.baselines.baseline import Scorer, Scores
from fglguard.baselines.descent import Schedule, descend, score_nodes
from fglguard.baselines.readout import graph_scores
from fglguard.baselines.requirements import check_finite, check_unlabelled
from fglguard.baselines.samples import Samples
from fglguard.packed_graphs import GraphBatch, PackedGraphs, collate


class AnomalyGuard(nn.Module, ABC):
    """Scores how little each node fits in with what was learned of unlabelled graphs."""

    schedule: Schedule

    @abstractmethod
    def loss(self, batch: GraphBatch) -> Tensor | None:
        """What training minimises; may draw from torch's seeded global generator.

        None where the batch teaches nothing.
        """

    @abstractmethod
    def anomaly(self, batch: GraphBatch) -> Tensor:
        """[N] scores, higher is odder; a node's depends on its own graph alone."""

    def remember(self, batch: GraphBatch) -> None:
        """Keep what scoring needs of some training graphs, once training is over."""


MEMORY_GRAPHS = 64
"""Training graphs shown to `remember`, drawn by the seed."""


def fit_anomaly_guard(
    build: Callable[[int, int], AnomalyGuard], train: Samples, seed: int
) -> Scorer:
    """Train a guard on all graphs; an episode is as odd as its oddest agent.

    Args:
        build: From the node features' width and a seed.
        train: Only its graphs' features and edges are used, and the tasks to refuse a set of one.
        seed: Same seed, same bits.

    Raises:
        BaselineError: The episodes are too few or of one task, or a vector is not finite; the
            scorer raises it too.
    """
    check_unlabelled(train.episodes)
    check_finite(train.graphs.x, "training node")
    guard = build(train.graphs.dimension, seed)
    descend(guard, train.graphs, lambda batch, _: guard.loss(batch), guard.schedule, seed)
    with torch.inference_mode():
        guard.remember(_some(train.graphs, seed))

    def score(samples: Samples) -> Scores:
        check_finite(samples.graphs.x, "node")
        nodes = score_nodes(guard.anomaly, samples.graphs)
        return Scores(graph_scores(nodes, samples.graphs), nodes)

    return score


def _some(graphs: PackedGraphs, seed: int) -> GraphBatch:
    count = min(MEMORY_GRAPHS, len(graphs))
    return collate(graphs, np.random.default_rng(seed).permutation(len(graphs))[:count])
