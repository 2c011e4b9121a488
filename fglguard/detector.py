"""Detectors: packed episode graphs to one logit an agent; the paper's graph attention scorer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fglguard.array_attention import MOST_NODES, attend, elu
from fglguard.detector_options import PAPER, DetectorOptions
from fglguard.edge_attention import EdgeAttention, glorot
from fglguard.errors import SettingsError
from fglguard.readout import read_out
from fglguard.settings import DetectorSettings

if TYPE_CHECKING:
    from fglguard.graph import EpisodeGraph
    from fglguard.packed_graphs import GraphBatch

Preset = Literal["paper", "recommended", "small"]
PRESETS: tuple[Preset, ...] = get_args(Preset)


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
    TEXT_ROWS = "text_rows"
    """A row a hashed word: which rows have a gradient tells the vocabulary of a site."""
    STATISTIC = "statistic"
    """Not trained: set by the server from sums over all sites."""


class Detector(nn.Module, ABC):
    """Maps packed episode graphs to a logit per agent and names its parameters' roles.

    It does so in two steps, `hidden` and `head`, so that a loss may look at the representations
    between them without a second pass; `episode_logits` then reads an episode's logit out.

    Attributes:
        preset: The name `build_detector` knows it by.
        dimension: Width of the node features it expects.
        edge_dimension: Width of the edge features it expects; 0: it looks at none.
        flow_dimension: Width of the information-flow features it expects; 0: it looks at none.
        options: What `build_detector` must be given besides, to build a like one.
        reads_tokens: Whether it looks at what nodes said, as token ids, instead of their features.
        reads_vectors: Whether it looks at node features, or at flow and text alone.
        branches: Columns of `hidden` that `fuse` standardises before they are summed; 0: none.
    """

    preset: str
    dimension: int
    edge_dimension: int = 0
    flow_dimension: int = 0
    options: DetectorOptions = PAPER
    reads_tokens: bool = False
    reads_vectors: bool = True
    branches: int = 0

    @abstractmethod
    def hidden(self, batch: "GraphBatch") -> Tensor:
        """Representations h [N, H] of the batch's nodes, all that the head looks at."""

    @abstractmethod
    def head(self, hidden: Tensor) -> Tensor:
        """Logits [N] of nodes with the representations h [N, H]."""

    def forward(self, batch: "GraphBatch") -> Tensor:
        """Logits [N], one for each node of the batch; sigmoid gives the anomaly scores s."""
        return self.head(self.hidden(batch))

    def array_logits(self, graph: "EpisodeGraph") -> NDArray[np.float64] | None:
        """Logits [n] of one graph's nodes without a batch's overhead; None: there is no such way.

        Args:
            graph: With the features that the detector wants.
        """
        return None

    def training_logits(self, hidden: Tensor) -> Tensor:
        """Logits [N] that the detection loss is taken of; `head`'s, unless a part does not train.

        Args:
            hidden: The batch's node representations [N, H].
        """
        return self.head(hidden)

    def fuse(self, mean: Tensor, deviation: Tensor) -> None:
        """Take the branches' mean and standard deviation over all sites, [branches] each."""

    def episode_logits(self, logits: Tensor, batch: "GraphBatch") -> Tensor:
        """Logits [G] of the batch's episodes, from those of its nodes [N]; see `read_out`."""
        return read_out(logits, batch, self.options.readout)

    @abstractmethod
    def roles(self) -> Mapping[str, StrEnum]:
        """Role of each parameter by its name, in the order of `named_parameters()`."""


class GraphAttentionDetector(Detector):
    r"""Layers of edge-conditioned attention and a linear head (FGLGuard, arXiv 2609.02967).

        h^0 = x,   h^l = ELU(EdgeAttention_l(h^(l-1), psi(e))),   s_j = sigmoid(w . h_j + b)

    Preset `paper`: two layers, hidden width 256 = 4 heads of 64, psi(e_ij) = x_j, the mean of the
    receiver's rounds. With d = 384 it has 362 753 parameters: W 98 304 + 65 536, U 98 304 twice,
    attention vectors 768 twice, biases 256 twice, head 257.

    Since x_j is the same for all in-edges of j, the paper's edge term shifts all of a node's
    logits alike before the LeakyReLU: it changes how sharp attention is, not whom it prefers.
    `sender` (psi = x_i) and `both` (psi = [x_i ; x_j]) do not have that limit.

    `message` (psi = the mean of phi over the messages i -> j) also adds V psi(e_ij) to what j
    hears, and `residual` adds R h^(l-1) before the ELU: see `EdgeAttention`.

    Args:
        dimension: Width of the node features.
        seed: Of the initial weights; torch's global generator is left alone.
        options: Departures from the paper.
        layers: Attention layers.
        heads: Attention heads a layer.
        channels: Width of a head.
    """

    preset = "paper"

    def __init__(
        self,
        dimension: int,
        seed: int,
        options: DetectorOptions = PAPER,
        layers: int = 2,
        heads: int = 4,
        channels: int = 64,
    ) -> None:
        super().__init__()
        self.dimension = dimension
        self.edge_dimension = options.edge_width(dimension)
        self.options = options
        generator = torch.Generator().manual_seed(seed)
        hidden = heads * channels
        by_node = dimension * {"none": 0, "both": 2}.get(options.edge_feature, 1)
        self.layers = nn.ModuleList(
            EdgeAttention(
                dimension if layer == 0 else hidden,
                heads,
                channels,
                self.edge_dimension or by_node,
                generator,
                messages=self.edge_dimension > 0,
                residual=options.residual,
            )
            for layer in range(layers)
        )
        self.head_weight = glorot((hidden,), hidden, 1, generator)
        self.head_bias = nn.Parameter(torch.zeros(()))

    def hidden(self, batch: "GraphBatch") -> Tensor:
        """The last layer's node states h^L [N, heads * channels]."""
        h = batch.x
        edges = len(batch.src) if self.options.self_loops else len(batch.src) - len(h)
        src, dst = batch.src[:edges], batch.dst[:edges]  # self-loops come last
        messages = batch.edge[:edges] if self.edge_dimension else None
        for layer, edge_terms in zip(self.layers, self._edge_terms(h), strict=True):
            h = nn.functional.elu(layer(h, src, dst, edge_terms, messages))
        return h

    @torch.no_grad()
    def array_logits(self, graph: "EpisodeGraph") -> NDArray[np.float64] | None:
        """What `forward` gives for one graph, [n], in numpy; None with `message`, or many nodes."""
        nodes = len(graph.x)
        if self.edge_dimension or nodes > MOST_NODES:
            return None
        loops = np.arange(nodes if self.options.self_loops else 0)
        src, dst = np.concatenate([graph.src, loops]), np.concatenate([graph.dst, loops])
        h = graph.x
        for layer, terms in zip(self.layers, self._edge_terms(torch.from_numpy(h)), strict=True):
            assert isinstance(layer, EdgeAttention)
            h = elu(attend(layer, h, src, dst, None if terms is None else terms.numpy()))
        weight, bias = self.head_weight.detach().numpy(), float(self.head_bias)
        logits: NDArray[np.float64] = h.astype(np.float64) @ weight.astype(np.float64) + bias
        return logits

    def head(self, hidden: Tensor) -> Tensor:
        """The linear head: w . h_j + b for each node, [N]."""
        return hidden @ self.head_weight + self.head_bias

    def roles(self) -> dict[str, Role]:
        """Role of each parameter by its name."""
        return {name: _ROLES[name.rpartition(".")[2]] for name, _ in self.named_parameters()}

    def _edge_terms(self, x: Tensor) -> list[Tensor | None]:
        """Every layer's edge share of the logits, [N, 2, heads], from one product."""
        layers = [layer for layer in self.layers if isinstance(layer, EdgeAttention)]
        edge_feature = self.options.edge_feature
        if edge_feature in ("none", "message"):
            return [None] * len(layers)
        weights = torch.stack([layer.edge_weight() for layer in layers])
        count, heads, _ = weights.shape
        if edge_feature == "both":  # the sender's half stands first
            ends = weights.view(count, heads, 2, -1).transpose(1, 2)
        else:
            ends = weights.unsqueeze(1)
        terms = (x @ ends.reshape(-1, x.shape[1]).t()).view(len(x), count, -1, heads)
        if edge_feature == "receiver":
            terms = nn.functional.pad(terms, (0, 0, 1, 0))
        elif edge_feature == "sender":
            terms = nn.functional.pad(terms, (0, 0, 0, 1))
        return list(terms.unbind(1))


_ROLES = {
    "node_projection": Role.NODE_PROJECTION,
    "edge_projection": Role.EDGE_PROJECTION,
    "message_projection": Role.EDGE_PROJECTION,
    "residual_projection": Role.NODE_PROJECTION,
    "attention": Role.ATTENTION,
    "bias": Role.BIAS,
    "head_weight": Role.HEAD,
    "head_bias": Role.BIAS,
}


def build_detector(
    preset: str, dimension: int, seed: int, options: DetectorOptions = PAPER
) -> Detector:
    """A detector with fresh weights.

    Args:
        preset: `paper`, `recommended` or `small`.
        dimension: Width of the node features: the encoder's, or what `options` make of it.
        seed: Same seed, same weights, whatever else the process has drawn.
        options: Departures from the preset.

    Raises:
        SettingsError: The preset is unknown, or a number is out of range.
        EncoderError: The encoder is to train and is not installed.
    """
    if options.encoder_layers is not None:
        from fglguard.tuned_detector import TunedDetector

        frozen = replace(options, encoder_layers=None, encoder_rank=0)
        base = build_detector(preset, dimension, seed, frozen)
        return TunedDetector(base, options.encoder_layers, options.encoder_rank, seed)
    if preset not in PRESETS:
        raise SettingsError(
            f"detector.preset: expected one of {', '.join(PRESETS)}, got {preset!r}"
        )
    if dimension < 1:
        raise SettingsError(f"dimension: expected at least 1, got {dimension}")
    if preset == "paper":
        return GraphAttentionDetector(dimension, seed, options)
    from fglguard.flow_detector import FlowDetector

    return FlowDetector(preset, dimension, options)


def detector_of(settings: DetectorSettings, dimension: int, seed: int) -> Detector:
    """The detector that a run's settings ask for, as `build_detector` makes it."""
    return build_detector(settings.preset, dimension, seed, DetectorOptions.of(settings))
