"""The detection loss by hand: which logits count, and what a class weighs."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from fglguard.detector import Detector, Role
from fglguard.detector_options import DetectorOptions
from fglguard.episode_rules import AGENT_KINDS
from fglguard.graph import EpisodeGraph
from fglguard.losses import balanced_class_weights, detection_loss
from fglguard.packed_graphs import PackedGraphs, collate, pack

torch.set_num_threads(1)


class Given(Detector):
    """logit = x: a node's only feature."""

    preset = "given"
    dimension = 1

    def __init__(self, readout="final") -> None:
        super().__init__()
        self.options = DetectorOptions(readout=readout)

    def hidden(self, batch) -> Tensor:
        return batch.x

    def head(self, hidden: Tensor) -> Tensor:
        return hidden[:, 0]

    def roles(self) -> dict[str, Role]:
        return {}


def episodes(logits: list[list[float]], labels: list[bool]) -> PackedGraphs:
    """Teams of agents whose first is final; nobody hears anybody."""
    graphs = [
        EpisodeGraph(
            x=np.array(team, np.float32)[:, None],
            kind=np.full(len(team), AGENT_KINDS.index("agent"), np.uint8),
            agent_ids=tuple(f"a{i}" for i in range(len(team))),
            src=np.zeros(0, np.int32),
            dst=np.zeros(0, np.int32),
            final=0,
        )
        for team in logits
    ]
    return pack(graphs, labels)


PACKED = episodes([[1.0, -2.0, 4.0], [0.5]], [True, False])


def unsafe(logit: float) -> float:
    """-log sigmoid(logit)."""
    return math.log1p(math.exp(-logit))


def safe(logit: float) -> float:
    """-log(1 - sigmoid(logit))."""
    return math.log1p(math.exp(logit))


@pytest.mark.parametrize(
    ("labels", "readout", "terms"),
    [
        ("broadcast", "final", [unsafe(1), unsafe(-2), unsafe(4), safe(0.5)]),
        ("broadcast", "max", [unsafe(1), unsafe(-2), unsafe(4), safe(0.5)]),
        ("final", "final", [unsafe(1), safe(0.5)]),
        ("final", "mean", [unsafe(1), safe(0.5)]),
        ("final", "max", [unsafe(4), safe(0.5)]),
    ],
)
def test_the_loss_is_the_mean_over_what_the_labels_reach(labels, readout, terms):
    """The mean of the logits 1, -2, 4 is 1, as is the final agent's."""
    detector, batch = Given(readout), collate(PACKED)
    loss, count = detection_loss(detector, detector.hidden(batch), batch, labels)
    assert loss.item() == pytest.approx(np.mean(terms), rel=1e-6)
    assert count == len(terms)


def test_weighted_terms_are_divided_by_their_number():
    detector, batch = Given(), collate(PACKED)
    weights = torch.tensor([3.0, 0.5])
    loss, count = detection_loss(detector, detector.hidden(batch), batch, "broadcast", weights)
    terms = [0.5 * unsafe(1), 0.5 * unsafe(-2), 0.5 * unsafe(4), 3 * safe(0.5)]
    assert loss.item() == pytest.approx(sum(terms) / 4, rel=1e-6)
    assert count == 4


def test_balanced_weights_by_hand():
    """Nodes: 3 unsafe, 1 safe, so 4 / 2 safe and 4 / 6 unsafe. Episodes: 1 and 1, so 1 each."""
    chosen = np.array([0, 1])
    by_node = balanced_class_weights(PACKED, chosen, "broadcast")
    assert by_node.tolist() == pytest.approx([2, 2 / 3])
    assert balanced_class_weights(PACKED, chosen, "final").tolist() == [1, 1]
    assert balanced_class_weights(PACKED, np.array([0]), "broadcast") is None
    assert balanced_class_weights(PACKED, np.array([1, 1]), "final") is None


def test_a_rare_class_weighs_no_more_than_ten():
    """1 unsafe of 20: 20 / 2 = 10 still; 1 of 40 would be 20."""
    for count, heavy in ((20, 10.0), (40, 10.0), (10, 5.0)):
        packed = episodes([[0.0]] * count, [True] + [False] * (count - 1))
        weights = balanced_class_weights(packed, np.arange(count), "broadcast")
        assert weights.tolist() == pytest.approx([count / (2 * (count - 1)), heavy])


@pytest.mark.parametrize("labels", ["broadcast", "final"])
def test_balanced_classes_weigh_alike_in_the_loss(labels):
    """With all logits 0 every term is log 2, so each class' share of the loss is its weight."""
    packed = episodes([[0.0] * (1 + n % 3) for n in range(12)], [n % 4 == 0 for n in range(12)])
    weights = balanced_class_weights(packed, np.arange(12), labels)
    sums = {}
    for label in (0, 1):
        batch = collate(packed, np.flatnonzero(packed.label == label))
        loss, count = detection_loss(Given(), batch.x, batch, labels, weights)
        sums[label] = loss.item() * count
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
