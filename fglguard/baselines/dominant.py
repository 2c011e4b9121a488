"""An unsupervised peer of DOMINANT's type: what can't be reconstructed is odd."""

import torch
from torch import Tensor
from torch.nn import functional

from fglguard.baselines.anomaly import AnomalyGuard
from fglguard.baselines.convolution import convolve, glorot, normalised, undirected
from fglguard.baselines.descent import Schedule
from fglguard.baselines.node_pairs import pairs_within_graphs
from fglguard.packed_graphs import GraphBatch

HIDDEN = 64
BALANCE = 0.8
"""alpha, the weight of attributes against structure."""


class Reconstruction(AnomalyGuard):
    r"""Graph autoencoder of attributes and structure (Ding et al., SDM 2019, DOMINANT).

        Z = ReLU(S ReLU(S X W1) W2),   X^ = S Z W3,   A^ = sigmoid(Z Z'),   within each graph

    with S the normalised undirected adjacency with self-loops and A the same with ones. Training
    minimises the mean over nodes of (1 - alpha) ||a_i - a^_i||^2 + alpha ||x_i - x^_i||^2; the
    score is (1 - alpha) ||a_i - a^_i|| + alpha ||x_i - x^_i||. The published attribute decoder
    ends in a ReLU; here it is linear, because embeddings have negative values.

    Args:
        dimension: Width of the node features.
        seed: Of the initial weights.
    """

    schedule = Schedule(epochs=40, batch_size=64, learning_rate=5e-3)

    def __init__(self, dimension: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.encoder_1 = glorot(HIDDEN, dimension, generator)
        self.encoder_2 = glorot(HIDDEN, HIDDEN, generator)
        self.decoder = glorot(dimension, HIDDEN, generator)

    def errors(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Squared reconstruction errors of each node's attributes and of its edges, [N] each."""
        edges = undirected(batch)
        weights = normalised(edges)
        h = functional.relu(convolve(batch.x @ self.encoder_1.t(), edges, weights))
        z = functional.relu(convolve(h @ self.encoder_2.t(), edges, weights))
        decoded = convolve(z, edges, weights) @ self.decoder.t()
        attributes = (batch.x - decoded).square().sum(1)
        left, right = pairs_within_graphs(batch)
        # Both lists are sorted alike, so membership is a look-up of keys.
        linked = torch.isin(left * len(z) + right, edges.dst * len(z) + edges.src)
        missed = (linked.float() - (z[left] * z[right]).sum(1).sigmoid()).square()
        return attributes, torch.zeros_like(attributes).index_add(0, left, missed)

    def loss(self, batch: GraphBatch) -> Tensor:
        """The weighted squared errors, averaged over nodes."""
        attributes, structure = self.errors(batch)
        return (BALANCE * attributes + (1 - BALANCE) * structure).mean()

    def anomaly(self, batch: GraphBatch) -> Tensor:
        """The weighted errors of each node, [N]."""
        attributes, structure = self.errors(batch)
        return BALANCE * attributes.sqrt() + (1 - BALANCE) * structure.sqrt()
