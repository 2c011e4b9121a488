"""Graph convolution over a batch of graphs, and the initial weights of the peers."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fglguard.packed_graphs import GraphBatch


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Undirected edges, each in both directions, sorted by (dst, src), with self-loops.

    Attributes:
        src: [M] int64.
        dst: [M] int64.
        nodes: N.
    """

    src: Tensor
    dst: Tensor
    nodes: int


def undirected(batch: GraphBatch) -> Edges:
    """Who spoke to whom, in whichever direction."""
    nodes = len(batch.x)
    both = torch.cat((batch.dst * nodes + batch.src, batch.src * nodes + batch.dst)).sort().values
    both = both[both.diff(prepend=both.new_tensor([-1])) != 0]
    return Edges(both % nodes, both // nodes, nodes)


def normalised(edges: Edges) -> Tensor:
    r"""[M] weights of D^-1/2 (A + I) D^-1/2 (Kipf and Welling, 2017)."""
    degree = torch.bincount(edges.dst, minlength=edges.nodes).float()
    return (degree[edges.src] * degree[edges.dst]).rsqrt()


def convolve(h: Tensor, edges: Edges, weights: Tensor) -> Tensor:
    """[N, H] sums over each node's edges of weight times the other end's row."""
    heard = torch.zeros_like(h)
    return heard.index_add(0, edges.dst, h[edges.src] * weights.unsqueeze(-1))


def glorot(outputs: int, inputs: int, generator: torch.Generator) -> nn.Parameter:
    """[outputs, inputs], uniform on +-sqrt(6 / (inputs + outputs))."""
    bound = math.sqrt(6 / (inputs + outputs))
    return nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound, generator=generator))
