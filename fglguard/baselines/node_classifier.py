"""A supervised peer of G-Safeguard's type: a graph network that classifies every agent."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fglguard.baselines.baseline import Scorer, Scores
from fglguard.baselines.convolution import glorot
from fglguard.baselines.descent import Schedule, descend, score_nodes
from fglguard.baselines.readout import graph_scores, judged_nodes
from fglguard.baselines.requirements import MINIMUM_EPISODES, check_finite, check_unlabelled
from fglguard.baselines.samples import Samples
from fglguard.errors import BaselineError
from fglguard.packed_graphs import GraphBatch

SCHEDULE = Schedule(epochs=20, batch_size=32, learning_rate=1e-3, weight_decay=2e-4)
HIDDEN, HEADS, LAYERS, DROPOUT = 256, 8, 2, 0.2


class UtteranceAttention(nn.Module):
    r"""Attention in which the utterance on an edge enters the logit and the message.

    For every edge i -> j between two agents, and every head, with x_i what i said:

        a_ij = softmax over j's in-edges of LeakyReLU(s . W h_i + r . W h_j + e . U x_i)
        h'_j = sum over i of a_ij (W h_i + V x_i) + R h_j + bias

    This is the layer of G-Safeguard (arXiv 2502.11127), whose edges carry the sender's utterances,
    with its optional residual projection R and, as published, without self-loops. Without R
    what an agent itself said only steers its attention, and in a team where all hear all its
    logit hardly differs from the others'.

    Shapes: h [N, inputs]; x [N, dimension]; output [N, HIDDEN].
    """

    def __init__(self, inputs: int, dimension: int, generator: torch.Generator) -> None:
        super().__init__()
        self.node = glorot(HIDDEN, inputs, generator)
        self.edge = glorot(HIDDEN, dimension, generator)
        self.message = glorot(HIDDEN, dimension, generator)
        self.attention = glorot(3, HIDDEN, generator)
        self.residual = glorot(HIDDEN, inputs, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, h: Tensor, batch: GraphBatch) -> Tensor:
        """One layer over the batch's edges."""
        linked = batch.src != batch.dst
        src, dst = batch.src[linked], batch.dst[linked]
        projected = h @ self.node.t()
        sender = _by_head(projected * self.attention[0])
        sender = sender + _by_head((batch.x @ self.edge.t()) * self.attention[2])
        receiver = _by_head(projected * self.attention[1])
        logits = functional.leaky_relu(sender[src] + receiver[dst], 0.2)
        weights = _softmax(logits, dst, len(h))
        sent = (projected + batch.x @ self.message.t()).view(len(h), HEADS, -1)
        heard = torch.zeros_like(sent)
        heard = heard.index_add(0, dst, sent[src] * weights.unsqueeze(-1))
        return heard.flatten(1) + h @ self.residual.t() + self.bias


class NodeClassifier(nn.Module):
    """Two layers of `UtteranceAttention`, ReLU, dropout, and a linear logit for each node."""

    def __init__(self, dimension: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        widths = [dimension] + [HIDDEN] * (LAYERS - 1)
        self.layers = nn.ModuleList(UtteranceAttention(w, dimension, generator) for w in widths)
        self.out = glorot(1, HIDDEN, generator)
        self.out_bias = nn.Parameter(torch.zeros(()))

    def forward(self, batch: GraphBatch) -> Tensor:
        """Logits [N]."""
        h = batch.x
        for layer in self.layers:
            h = functional.dropout(functional.relu(layer(h, batch)), DROPOUT, self.training)
        return h @ self.out[0] + self.out_bias


def node_targets(samples: Samples) -> NDArray[np.int8]:
    """[N] what each node is trained towards; 1 unsafe, 0 safe, -1 nothing.

    Its own label where the source labels any agent of the episode; else the episode's label, on
    the nodes that are judged.
    """
    graphs = samples.graphs
    starts = graphs.node_offsets[:-1]
    own = np.maximum.reduceat(samples.node_unsafe, starts) >= 0
    broadcast = np.where(judged_nodes(graphs), np.repeat(graphs.label, graphs.nodes), -1)
    targets = np.where(np.repeat(own, graphs.nodes), samples.node_unsafe, broadcast)
    return targets.astype(np.int8)


def fit_node_classifier(train: Samples, seed: int) -> Scorer:
    """Train on all episodes' nodes in one place; an episode is as unsafe as its worst agent.

    Raises:
        BaselineError: The episodes with a label are fewer than `MINIMUM_EPISODES` or of one task,
            their nodes are of one class, or a vector is not finite; the scorer raises it too.
    """
    if not len(train):
        raise BaselineError(f"expected at least {MINIMUM_EPISODES} training episodes, got 0")
    targets = node_targets(train)
    taught = np.flatnonzero(np.maximum.reduceat(targets, train.graphs.node_offsets[:-1]) >= 0)
    check_unlabelled([train.episodes[g] for g in taught])
    if not (targets == 1).any() or not (targets == 0).any():
        raise BaselineError("expected safe and unsafe agents to train on, got one class only")
    train = train.select(taught)
    check_finite(train.graphs.x, "training node")
    model = NodeClassifier(train.graphs.dimension, seed)
    by_graph = np.split(node_targets(train), train.graphs.node_offsets[1:-1])

    def loss(batch: GraphBatch, positions: NDArray[np.int64]) -> Tensor:
        target = torch.from_numpy(np.concatenate([by_graph[g] for g in positions])).float()
        taught = target >= 0
        return functional.binary_cross_entropy_with_logits(model(batch)[taught], target[taught])

    descend(model, train.graphs, loss, SCHEDULE, seed)

    def score(samples: Samples) -> Scores:
        check_finite(samples.graphs.x, "node")
        nodes = score_nodes(lambda batch: model(batch).double().sigmoid(), samples.graphs)
        return Scores(graph_scores(nodes, samples.graphs), nodes)

    return score


def _by_head(terms: Tensor) -> Tensor:
    """Sums of each head's share of [N, HIDDEN]: [N, HEADS]."""
    return terms.view(len(terms), HEADS, -1).sum(-1)


def _softmax(logits: Tensor, dst: Tensor, nodes: int) -> Tensor:
    """Softmax of logits [E, HEADS] over the edges that share a receiver."""
    index = dst.unsqueeze(-1).expand_as(logits)
    lowest = logits.new_full((nodes, HEADS), -torch.inf)
    powers = (logits - lowest.scatter_reduce(0, index, logits.detach(), "amax")[dst]).exp()
    return powers / powers.new_zeros(nodes, HEADS).scatter_add(0, index, powers)[dst]
