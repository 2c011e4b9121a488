"""Detectors: packed episode graphs to one logit an agent; the paper's graph attention scorer."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor, nn

from fglguard.errors import SettingsError

if TYPE_CHECKING:
    from fglguard.packed_graphs import GraphBatch

Preset = Literal["paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

EdgeFeature = Literal["receiver", "sender", "both", "none"]
EDGE_FEATURES: tuple[EdgeFeature, ...] = get_args(EdgeFeature)

NEGATIVE_SLOPE = 0.2


class Role(StrEnum):
    """The part a parameter plays, which decides what its gradient can leak.

    The gradient of a projection lies in the span of the projection's inputs, so node projections
    of the first layer and edge projections of *every* layer span utterance embeddings.
    """

    NODE_PROJECTION = "node_projection"
    EDGE_PROJECTION = "edge_projection"
    ATTENTION = "attention"
    HEAD = "head"
    BIAS = "bias"


class Detector(nn.Module, ABC):
    """Maps packed episode graphs to a logit per agent and names its parameters' roles.

    It does so in two steps, `hidden` and `head`, so that a loss may look at the representations
    between them without a second pass.

    Attributes:
        preset: The name `build_detector` knows it by.
        dimension: Width d of the node features it expects.
        options: What `build_detector` must be given besides, to build a like one.
    """

    preset: str
    dimension: int
    options: Mapping[str, Any]

    @abstractmethod
    def hidden(self, batch: "GraphBatch") -> Tensor:
        """Representations h [N, H] of the batch's nodes, all that the head looks at."""

    @abstractmethod
    def head(self, hidden: Tensor) -> Tensor:
        """Logits [N] of nodes with the representations h [N, H]."""

    def forward(self, batch: "GraphBatch") -> Tensor:
        """Logits [N], one for each node of the batch; sigmoid gives the anomaly scores s."""
        return self.head(self.hidden(batch))

    @abstractmethod
    def roles(self) -> dict[str, Role]:
        """Role of each parameter by its name, in the order of `named_parameters()`."""


class EdgeAttention(nn.Module):
    r"""One layer of edge-conditioned multi-head graph attention (FGLGuard, arXiv 2609.02967).

    For every edge i -> j, self-loops included, and every head:

        a_ij = softmax over j's in-edges of LeakyReLU(a . [W h_i ; W h_j ; U psi(e_ij)])
        h'_j = sum over i of a_ij W h_i + bias

    Heads are concatenated; the slope of LeakyReLU is 0.2. `psi(e_ij)` is the mean of the rounds at
    the edge's ends and hence a function of its two nodes, so `a_e . U psi(e_ij)` is a sum of
    one term a sender and one a receiver. They come folded, as `edge_terms`: U is never applied
    to an edge.

    Shapes: h [N, inputs]; src, dst [E]; output [N, heads * channels].

    Args:
        inputs: Width of h.
        heads: Attention heads.
        channels: Width of one head.
        edge_inputs: Width of psi(e); 0 leaves the edge term out.
        generator: Source of the Glorot-uniform initial weights.
    """

    def __init__(
        self, inputs: int, heads: int, channels: int, edge_inputs: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.heads, self.channels = heads, channels
        width = heads * channels
        ends = 3 if edge_inputs else 2
        self.node_projection = _glorot((width, inputs), inputs, width, generator)
        self.edge_projection = (
            _glorot((width, edge_inputs), edge_inputs, width, generator) if edge_inputs else None
        )
        self.attention = _glorot((ends, heads, channels), ends * channels, 1, generator)
        self.bias = nn.Parameter(torch.zeros(width))

    def edge_weight(self) -> Tensor:
        """a_e^T U, [heads, edge_inputs]: what maps psi(e) to its share of the attention logit."""
        assert self.edge_projection is not None
        projection = self.edge_projection.view(self.heads, self.channels, -1)
        return torch.einsum("hc,hcd->hd", self.attention[2], projection)

    def forward(self, h: Tensor, src: Tensor, dst: Tensor, edge_terms: Tensor | None) -> Tensor:
        """Attend over in-edges.

        Args:
            h: Node states [N, inputs].
            src: Senders [E].
            dst: Receivers [E]; every node is the receiver of at least its self-loop.
            edge_terms: Edge share of the logit by node, [N, 2, heads]: as sender, as receiver.
        """
        nodes = h.shape[0]
        projected = h @ self.node_projection.t()
        by_head = projected.view(nodes, self.heads, self.channels)
        terms = torch.einsum("nhc,ehc->neh", by_head, self.attention[:2])
        if edge_terms is not None:
            terms = terms + edge_terms
        logits = nn.functional.leaky_relu(terms[:, 0][src] + terms[:, 1][dst], NEGATIVE_SLOPE)
        weights = _softmax_by_receiver(logits, dst, nodes)
        sent = by_head.index_select(0, src) * weights.unsqueeze(-1)
        # An expanded index takes torch's fast row-wise path; index_add_ copies row by row.
        receivers = dst.unsqueeze(-1).expand(-1, projected.shape[1])
        heard = torch.zeros_like(projected).scatter_add(0, receivers, sent.flatten(1))
        return heard + self.bias


class GraphAttentionDetector(Detector):
    r"""Layers of edge-conditioned attention and a linear head (FGLGuard, arXiv 2609.02967).

        h^0 = x,   h^l = ELU(EdgeAttention_l(h^(l-1), psi(e))),   s_j = sigmoid(w . h_j + b)

    Preset `paper`: two layers, hidden width 256 = 4 heads of 64, psi(e_ij) = x_j, the mean of the
    receiver's rounds. With d = 384 it has 362 753 parameters: W 98 304 + 65 536, U 98 304 twice,
    attention vectors 768 twice, biases 256 twice, head 257.

    Since x_j is the same for all in-edges of j, the paper's edge term shifts all of a node's
    logits alike before the LeakyReLU: it changes how sharp attention is, not whom it prefers.
    `sender` (psi = x_i) and `both` (psi = [x_i ; x_j]) do not have that limit.

    Args:
        dimension: Width d of the node features.
        seed: Of the initial weights; torch's global generator is left alone.
        edge_feature: Whose rounds psi(e) averages.
        layers: Attention layers.
        heads: Attention heads a layer.
        channels: Width of a head.
    """

    preset = "paper"

    def __init__(
        self,
        dimension: int,
        seed: int,
        edge_feature: EdgeFeature = "receiver",
        layers: int = 2,
        heads: int = 4,
        channels: int = 64,
    ) -> None:
        super().__init__()
        if edge_feature not in EDGE_FEATURES:
            raise SettingsError(
                f"edge_feature: expected one of {', '.join(EDGE_FEATURES)}, got {edge_feature!r}"
            )
        self.dimension = dimension
        self.edge_feature = edge_feature
        self.options = {"edge_feature": edge_feature}
        generator = torch.Generator().manual_seed(seed)
        hidden = heads * channels
        edge_inputs = dimension * {"none": 0, "both": 2}.get(edge_feature, 1)
        self.layers = nn.ModuleList(
            EdgeAttention(
                dimension if layer == 0 else hidden, heads, channels, edge_inputs, generator
            )
            for layer in range(layers)
        )
        self.head_weight = _glorot((hidden,), hidden, 1, generator)
        self.head_bias = nn.Parameter(torch.zeros(()))

    def hidden(self, batch: "GraphBatch") -> Tensor:
        """The last layer's node states h^L [N, heads * channels]."""
        h = batch.x
        for layer, edge_terms in zip(self.layers, self._edge_terms(batch.x), strict=True):
            h = nn.functional.elu(layer(h, batch.src, batch.dst, edge_terms))
        return h

    def head(self, hidden: Tensor) -> Tensor:
        """The linear head: w . h_j + b for each node, [N]."""
        return hidden @ self.head_weight + self.head_bias

    def roles(self) -> dict[str, Role]:
        """Role of each parameter by its name."""
        return {name: _ROLES[name.rpartition(".")[2]] for name, _ in self.named_parameters()}

    def _edge_terms(self, x: Tensor) -> list[Tensor | None]:
        """Every layer's edge share of the logits, [N, 2, heads], from one product."""
        layers = [layer for layer in self.layers if isinstance(layer, EdgeAttention)]
        if self.edge_feature == "none":
            return [None] * len(layers)
        weights = torch.stack([layer.edge_weight() for layer in layers])
        count, heads, _ = weights.shape
        if self.edge_feature == "both":  # the sender's half stands first
            ends = weights.view(count, heads, 2, -1).transpose(1, 2)
        else:
            ends = weights.unsqueeze(1)
        terms = (x @ ends.reshape(-1, x.shape[1]).t()).view(len(x), count, -1, heads)
        if self.edge_feature == "receiver":
            terms = nn.functional.pad(terms, (0, 0, 1, 0))
        elif self.edge_feature == "sender":
            terms = nn.functional.pad(terms, (0, 0, 0, 1))
        return list(terms.unbind(1))


_ROLES = {
    "node_projection": Role.NODE_PROJECTION,
    "edge_projection": Role.EDGE_PROJECTION,
    "attention": Role.ATTENTION,
    "bias": Role.BIAS,
    "head_weight": Role.HEAD,
    "head_bias": Role.BIAS,
}


def build_detector(
    preset: str, dimension: int, seed: int, *, edge_feature: EdgeFeature | None = None
) -> Detector:
    """A detector with fresh weights.

    Args:
        preset: `paper`.
        dimension: Width of the node features: the encoder's.
        seed: Same seed, same weights, whatever else the process has drawn.
        edge_feature: Departs from the preset's edge feature.

    Raises:
        SettingsError: The preset or edge feature is unknown, or a number is out of range.
    """
    if preset not in PRESETS:
        raise SettingsError(
            f"detector.preset: expected one of {', '.join(PRESETS)}, got {preset!r}"
        )
    if dimension < 1:
        raise SettingsError(f"dimension: expected at least 1, got {dimension}")
    return GraphAttentionDetector(dimension, seed, edge_feature or "receiver")


def _softmax_by_receiver(logits: Tensor, dst: Tensor, nodes: int) -> Tensor:
    """Softmax of logits [E, heads] over the edges that share a receiver."""
    index = dst.unsqueeze(-1).expand_as(logits)
    shape = (nodes, logits.shape[1])
    # The shift cancels in the quotient, so it needs no gradient.
    largest = logits.new_full(shape, -math.inf).scatter_reduce(0, index, logits.detach(), "amax")
    powers = (logits - largest[dst]).exp()
    sums = powers.new_zeros(shape).scatter_add(0, index, powers)
    return powers / sums[dst]


def _glorot(
    shape: tuple[int, ...], fan_in: int, fan_out: int, generator: torch.Generator
) -> nn.Parameter:
    """Uniform on +-sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(6 / (fan_in + fan_out))
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
