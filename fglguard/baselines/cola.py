"""An unsupervised peer of CoLA's type: who does not match those it talks with is odd."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from fglguard.baselines.anomaly import AnomalyGuard
from fglguard.baselines.convolution import Edges, glorot, undirected
from fglguard.baselines.descent import Schedule
from fglguard.packed_graphs import GraphBatch

HIDDEN = 64
MEMORY = 128
"""Foreign subgraphs that a node is held against when it is scored."""


@dataclass(frozen=True, slots=True, eq=False)
class EgoNetworks:
    """Every node's subgraph: itself and those it is linked with, and the edges among them.

    Attributes:
        target: [M] whose subgraph a member belongs to, sorted.
        member: [M] the node that the member is.
        src: [K] edges between members, as positions in the two lists above, self-loops included.
        dst: [K] the other end.
    """

    target: Tensor
    member: Tensor
    src: Tensor
    dst: Tensor


class SubgraphContrast(AnomalyGuard):
    r"""Contrast of nodes with their neighbourhoods (CoLA, Liu et al., TNNLS 2021).

    e_i is the mean over i's subgraph of PReLU(S X W), X there with i's own row set to zero, and
    z_i = PReLU(W x_i). A bilinear discriminator D(z, e) = sigmoid(z' B e) learns by BCE to tell a
    node's own subgraph from one of another graph of the batch. The score is

        mean over foreign subgraphs of D(z_i, e) - D(z_i, e_i)

    The published method samples subgraphs by random walks and scores over many draws. Graphs of
    agents are small, so here a subgraph is the whole neighbourhood and the foreign ones are a
    fixed sample of training graphs': scores are then deterministic and permutation-equivariant.

    Args:
        dimension: Width of the node features.
        seed: Of the initial weights.
    """

    schedule = Schedule(epochs=40, batch_size=64, learning_rate=3e-3)

    def __init__(self, dimension: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = glorot(HIDDEN, dimension, generator)
        self.bilinear = glorot(HIDDEN, HIDDEN, generator)
        self.slope = nn.Parameter(torch.tensor(0.25))
        self.memory: Tensor

    def embed(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Representations z and e of every node, [N, HIDDEN] each."""
        projected = batch.x @ self.weight.t()
        egos = ego_networks(undirected(batch))
        hidden = (egos.target == egos.member).unsqueeze(-1)
        rows = projected[egos.member].masked_fill(hidden, 0.0)
        degree = torch.bincount(egos.dst, minlength=len(rows)).float()
        weights = (degree[egos.src] * degree[egos.dst]).rsqrt().unsqueeze(-1)
        heard = torch.zeros_like(rows).index_add(0, egos.dst, rows[egos.src] * weights)
        heard = functional.prelu(heard, self.slope)
        sums = torch.zeros_like(projected).index_add(0, egos.target, heard)
        size = torch.bincount(egos.target, minlength=len(projected)).unsqueeze(-1)
        return functional.prelu(projected, self.slope), sums / size

    def loss(self, batch: GraphBatch) -> Tensor:
        """BCE of own subgraphs against one drawn for each node."""
        z, e = self.embed(batch)
        asked = z @ self.bilinear
        own = (asked * e).sum(1)
        drawn = torch.randperm(len(z))
        foreign = (asked * e[drawn]).sum(1)[batch.graph != batch.graph[drawn]]
        logits = torch.cat((own, foreign))
        belongs = torch.cat((torch.ones_like(own), torch.zeros_like(foreign)))
        return functional.binary_cross_entropy_with_logits(logits, belongs)

    def remember(self, batch: GraphBatch) -> None:
        """Keep subgraphs of these graphs as the foreign ones: each graph's share, in order."""
        _, e = self.embed(batch)
        self.memory = e[torch.linspace(0, len(e) - 1, min(MEMORY, len(e))).long()]

    def anomaly(self, batch: GraphBatch) -> Tensor:
        """How much better foreign subgraphs match than a node's own, [N]."""
        z, e = self.embed(batch)
        asked = z @ self.bilinear
        own = (asked * e).sum(1).sigmoid()
        return (asked @ self.memory.t()).sigmoid().mean(1) - own


def ego_networks(edges: Edges) -> EgoNetworks:
    """The subgraph around each node; `edges` are undirected, with self-loops, sorted by dst."""
    # A pair (t, m) says that m is a member of t's subgraph; edges are such pairs already.
    keys = edges.dst * edges.nodes + edges.src
    degree = torch.bincount(edges.dst, minlength=edges.nodes)
    starts = degree.cumsum(0) - degree
    counts = degree[edges.src]
    pair = torch.repeat_interleave(torch.arange(len(keys)), counts)
    offset = torch.arange(len(pair)) - torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    neighbour = edges.src[starts[edges.src[pair]] + offset]
    wanted = edges.dst[pair] * edges.nodes + neighbour
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    inside = keys[place] == wanted
    return EgoNetworks(edges.dst, edges.src, place[inside], pair[inside])
