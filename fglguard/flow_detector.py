"""Presets `recommended` and `small`: hashed text and information flow, fused late."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fglguard.detector import Detector, Role
from fglguard.detector_options import PAPER, DetectorOptions
from fglguard.episode_rules import AGENT_KINDS
from fglguard.flow.features import PROVENANCE, WIDTH
from fglguard.graph import PRESET_FEATURES
from fglguard.hashed_text import columns_of

if TYPE_CHECKING:
    from fglguard.graph import EpisodeGraph
    from fglguard.packed_graphs import GraphBatch

FLOW_SCALE = (0.8, 1.0, 0.9, 0.25, 0.35, 0.9, 0.6, 0.9, 0.6, 0.3)
"""Brings a column of `flow.features.POOLED` to a standard deviation of about 0.2 beside text rows
of unit length a block. Public constants: a normaliser of the sites' own would leak."""
PROVENANCE_WEIGHT = 0.25
"""Of the provenance branch in the fused score; the trained branch weighs 1."""
_BRANCHES = 2
_AGENT = AGENT_KINDS.index("agent")


_SCALE = np.array(FLOW_SCALE, dtype=np.float32)
NEVER_SUSPECT = -20.0
"""l of a user or tool, which have no features: above it, they would lift every calm agent's
corroborated score to one and the same value."""


class FlowDetector(Detector):
    r"""A sparse linear branch, and provenance, each standardised before they are summed.

        l_j = w . text_j + v . (scale * flow_j) + b
        logit_j = (l_j - m_1) / s_1 + 0.25 (p_j - m_2) / s_2

    text_j is agent j's row of `hashed_text`, flow_j its information-flow features
    (`flow.features.POOLED`) and p_j the first of them: how much the most instruction-like span
    that one of its tainted values came in by sounds like an instruction. p_j is not trained, which
    is what makes it hold on tasks, tools and sites that were in no training set. The loss is that
    of l_j alone. m and s are the branches' mean and standard deviation over the validation
    episodes of all sites; the server sets them after the last round, from sums that sites return.
    Until then m = 0 and s = 1.

    Users and tools do nothing that could be judged, so theirs is a constant far below any agent's.

    Weights start at zero, so a seed changes nothing. `recommended` has 40 971 of them that train
    (5 blocks of 2^12 words and 2^12 letter sequences, 10 flow features, a bias), `small` 5 131
    (5 blocks of 2^10 words).

    Args:
        preset: `recommended` or `small`.
        dimension: Width of the node features, which are not looked at.
        options: Its readout counts.
    """

    branches = _BRANCHES
    reads_vectors = False
    flow_dimension = WIDTH

    def __init__(self, preset: str, dimension: int, options: DetectorOptions = PAPER) -> None:
        super().__init__()
        features = PRESET_FEATURES[preset]
        self.preset = preset
        self.dimension = dimension
        self.options = options
        columns = columns_of(features.get("word_bits", 0), features.get("letter_bits", 0))
        self.text_weight = nn.Parameter(torch.zeros(columns, 1))
        self.flow_weight = nn.Parameter(torch.zeros(WIDTH))
        self.bias = nn.Parameter(torch.zeros(()))
        # Parameters, so that they travel and are kept with the others; they never train.
        self.moments = nn.Parameter(
            torch.tensor([[0.0] * _BRANCHES, [1.0] * _BRANCHES]), requires_grad=False
        )

    def hidden(self, batch: "GraphBatch") -> Tensor:
        """The branches' scores [N, 2]: l_j and p_j."""
        text = functional.embedding_bag(
            batch.text_columns,
            self.text_weight,
            batch.text_starts,
            mode="sum",
            per_sample_weights=batch.text_values,
        ).squeeze(1)
        flow = batch.flow @ (batch.flow.new_tensor(FLOW_SCALE) * self.flow_weight)
        linear = text + flow + self.bias
        linear = torch.where(_acts(batch), linear, linear.new_tensor(NEVER_SUSPECT))
        return torch.stack([linear, batch.flow[:, PROVENANCE]], dim=1)

    def array_logits(self, graph: "EpisodeGraph") -> NDArray[np.float64]:
        """What `forward` gives for one graph, [n], in numpy: a tenth of a batch's overhead."""
        text, flow = graph.text, graph.flow
        if text is None or flow is None:
            raise ValueError("graph: expected hashed text and flow features, got none")
        weights = self.text_weight.detach().numpy()[:, 0]
        sums = np.concatenate(([0.0], np.cumsum(weights[text.columns] * text.values, dtype=float)))
        linear = sums[text.offsets[1:]] - sums[text.offsets[:-1]]
        linear += flow @ (_SCALE * self.flow_weight.detach().numpy()) + float(self.bias.detach())
        acts = graph.kind == _AGENT
        acts[graph.final] = True
        (mean, provenance), (deviation, spread) = self.moments.tolist()
        fused: NDArray[np.float64] = (np.where(acts, linear, NEVER_SUSPECT) - mean) / deviation
        fused += PROVENANCE_WEIGHT * (flow[:, PROVENANCE] - provenance) / spread
        return fused

    def head(self, hidden: Tensor) -> Tensor:
        """The fused logits [N]."""
        mean, deviation = self.moments
        standard = (hidden - mean) / deviation
        fused: Tensor = standard[:, 0] + PROVENANCE_WEIGHT * standard[:, 1]
        return fused

    def training_logits(self, hidden: Tensor) -> Tensor:
        """l_j alone, [N]."""
        return hidden[:, 0]

    def fuse(self, mean: Tensor, deviation: Tensor) -> None:
        """Set m and s, each [2]; a branch that never varies keeps s = 1."""
        with torch.no_grad():
            self.moments[0] = mean
            self.moments[1] = torch.where(deviation > 0, deviation, torch.ones(()))

    def roles(self) -> dict[str, Role]:
        """Role of each parameter by its name."""
        return {
            "text_weight": Role.TEXT_ROWS,
            "flow_weight": Role.NODE_PROJECTION,
            "bias": Role.BIAS,
            "moments": Role.STATISTIC,
        }


def _acts(batch: "GraphBatch") -> Tensor:
    """Which nodes are agents, or the final node whatever its kind, [N] bool."""
    acts = batch.kind == _AGENT
    acts[batch.final] = True
    return acts
