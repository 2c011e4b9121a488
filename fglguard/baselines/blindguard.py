"""An unsupervised peer of BlindGuard's type: contrast of agents with corrupted ones."""

import torch
from torch import Tensor
from torch.nn import functional

from fglguard.baselines.anomaly import AnomalyGuard
from fglguard.baselines.convolution import Edges, glorot, undirected
from fglguard.baselines.descent import Schedule
from fglguard.baselines.node_pairs import pairs_within_graphs
from fglguard.packed_graphs import GraphBatch

HIDDEN = 128
CORRUPTED = 0.3
"""Share of the nodes that are corrupted in a step."""
STRENGTH = 1.0
"""Length of the noise, as a multiple of the utterance's."""
TEMPERATURE = 0.5


class CorruptionContrast(AnomalyGuard):
    r"""Hierarchical encoder and corruption-guided contrast (BlindGuard, arXiv 2508.08127).

    Three levels describe an agent: itself, its neighbours' mean, its whole graph's mean,

        z_i = W2 ReLU(W1 [x_i ; mean over linked j of x_j ; mean over the graph of x_j])

    Directional noise makes stand-ins for attackers: x~_i = x_i + STRENGTH ||x_i|| u, u a random
    unit vector. In each graph, z of nodes as they are attract each other and repel those of
    corrupted nodes: for node i and every other node p of its graph, minus the logarithm of
    exp(cos(z_i, z_p) / t) over the sum of the like for all other nodes and all corrupted ones.
    The score of a node is minus its mean cosine with the others of its graph.

    The published text names these parts; sizes, shares, temperature and the form of the contrast
    are this implementation's. Training does not need to know which agents are normal, but takes
    most to be.

    Args:
        dimension: Width of the node features.
        seed: Of the initial weights.
    """

    schedule = Schedule(epochs=20, batch_size=64, learning_rate=1e-3, weight_decay=1e-4)

    def __init__(self, dimension: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.inner = glorot(HIDDEN, 3 * dimension, generator)
        self.outer = glorot(HIDDEN, HIDDEN, generator)

    def encode(self, x: Tensor, batch: GraphBatch, edges: Edges) -> Tensor:
        """[N, HIDDEN] unit vectors z of nodes with the features x."""
        linked = edges.dst != edges.src
        around = _mean(x[edges.src[linked]], edges.dst[linked], len(x))
        whole = _mean(x, batch.graph, batch.graphs)[batch.graph]
        levels = torch.cat((x, around, whole), 1)
        z = functional.relu(levels @ self.inner.t()) @ self.outer.t()
        return functional.normalize(z, dim=1)

    def loss(self, batch: GraphBatch) -> Tensor | None:
        """The contrast over all nodes that have company in their graph; None if none has."""
        left, right = pairs_within_graphs(batch)
        others = left != right
        if not others.any():
            return None
        corrupted = torch.rand(len(batch.x)) < CORRUPTED
        noise = functional.normalize(torch.randn_like(batch.x), dim=1)
        noise = noise * (STRENGTH * batch.x.norm(dim=1) * corrupted).unsqueeze(-1)
        edges = undirected(batch)
        clean = self.encode(batch.x, batch, edges)
        broken = self.encode(batch.x + noise, batch, edges)
        attraction = (clean[left] * clean[right]).sum(1) / TEMPERATURE
        repulsion = (clean[left] * broken[right]).sum(1) / TEMPERATURE
        powers = attraction.exp() * others + repulsion.exp() * corrupted[right]
        total = torch.zeros(len(clean)).index_add(0, left, powers)
        return (total.log()[left] - attraction)[others].mean()

    def anomaly(self, batch: GraphBatch) -> Tensor:
        """Minus the mean cosine with the other nodes of the graph, [N]; 0 for a node alone."""
        z = self.encode(batch.x, batch, undirected(batch))
        left, right = pairs_within_graphs(batch)
        left, right = left[left != right], right[left != right]
        cosine = (z[left] * z[right]).sum(1, keepdim=True)
        return -_mean(cosine, left, len(z)).squeeze(1)


def _mean(rows: Tensor, index: Tensor, count: int) -> Tensor:
    """[count, d] means of the rows that share an index; zeros where there is none."""
    sums = rows.new_zeros(count, rows.shape[1]).index_add(0, index, rows)
    return sums / torch.bincount(index, minlength=count).clamp(min=1).unsqueeze(-1)
