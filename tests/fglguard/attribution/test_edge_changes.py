import numpy as np
import pytest
import torch
from torch import nn

from fglguard.attribution import edge_changes as influence
from fglguard.attribution.edge_changes import edge_changes
from fglguard.detector import Detector, build_detector
from fglguard.detector_options import DetectorOptions
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import collate, pack


def graph(x, edges, final):
    src, dst = np.array(edges, np.int32).reshape(-1, 2).T
    order = np.lexsort((src, dst))
    return EpisodeGraph(
        x=np.array(x, np.float32),
        kind=np.ones(len(x), np.uint8),
        agent_ids=tuple(f"agent-{i}" for i in range(len(x))),
        src=src[order],
        dst=dst[order],
        final=final,
    )


class SumOverTwoHops(Detector):
    """Twice: an agent's state becomes the sum of the states of those it hears, itself included."""

    preset, dimension = "sum", 1

    def __init__(self, readout="final"):
        super().__init__()
        self.options = DetectorOptions(readout=readout)
        self.weight = nn.Parameter(torch.tensor(2.0))

    def hidden(self, batch):
        h = batch.x
        for _ in range(2):
            h = torch.zeros_like(h).index_add_(0, batch.dst, h[batch.src])
        return h

    def head(self, hidden):
        return self.weight * hidden[:, 0]

    def roles(self):
        return {}


def test_changes_of_a_linear_detector_by_hand():
    """Chain 0 -> 1 -> 2 with x = 1, 10, 100 and 2 guarded.

    The state of 2 after two sums is x_2 + 2 x_1 + x_0 = 121, the logit twice that. Without 0 -> 1
    it lacks x_0 = 1: change 2. Without 1 -> 2 only x_2 = 100 is left: change 42.
    """
    packed = pack([graph([[1], [10], [100]], [(0, 1), (1, 2)], final=2)])
    assert edge_changes(SumOverTwoHops(), packed, 0).tolist() == [2.0, 42.0]


@pytest.mark.parametrize(
    ("readout", "expected"),
    [("final", [2.0, 42.0]), ("mean", [2.0, 14.0]), ("max", [2.0, 42.0])],
)
def test_changes_are_those_of_the_logit_that_is_read_out(readout, expected):
    """The chain above: states 1, 12, 121, logits 2, 24, 242.

    Without 0 -> 1 they are 2, 20, 240: the mean falls from 268 / 3 to 262 / 3, by 2. Without
    1 -> 2 they are 2, 24, 200: it falls by 42 / 3 = 14.
    """
    packed = pack([graph([[1], [10], [100]], [(0, 1), (1, 2)], final=2)])
    assert edge_changes(SumOverTwoHops(readout), packed, 0) == pytest.approx(expected)


def test_changes_of_the_papers_detector_by_brute_force(monkeypatch):
    """Each graph built anew without one edge, and the difference of the final agent's logits."""
    rng = np.random.default_rng(0)
    edges = [(0, 1), (1, 0), (2, 1), (3, 2), (1, 3)]
    x = rng.normal(size=(4, 8)).astype(np.float32)
    detector = build_detector("paper", 8, seed=0)

    def logit(kept):
        batch = collate(pack([graph(x, kept, final=1)]))
        with torch.inference_mode():
            return float(detector(batch)[batch.final])

    other = graph(rng.normal(size=(3, 8)), [(0, 1)], final=1)
    chosen = graph(x, edges, final=1)
    listed = list(zip(chosen.src.tolist(), chosen.dst.tolist(), strict=True))
    expected = [logit(edges) - logit([e for e in edges if e != edge]) for edge in listed]
    packed = pack([other, chosen, other])
    assert edge_changes(detector, packed, 1) == pytest.approx(expected, abs=1e-5)
    # Two copies at a time instead of all at once.
    monkeypatch.setattr(influence, "MOST_NODES", 8)
    assert edge_changes(detector, packed, 1) == pytest.approx(expected, abs=1e-5)


def test_a_graph_without_edges_has_no_changes():
    packed = pack([graph([[1], [2]], [], final=0)])
    assert edge_changes(SumOverTwoHops(), packed, 0).tolist() == []
