"""The simulation benchmark on a tiny case: both sides train the same model."""

import pytest

from scripts.benchmarks import simulation
from scripts.benchmarks.simulation import Case, ratios

pytestmark = pytest.mark.long


def test_ours_and_the_plain_loop_end_with_the_same_weights(tmp_path, monkeypatch):
    """Three clients of 40 graphs, two of them a round: two rounds in worker processes."""
    monkeypatch.setattr(simulation, "SILOS", tmp_path)
    case = Case("tiny", clients=3, graphs=40, epochs=2, sampled=2, rounds=1)
    figures = ratios(case)
    assert figures["difference"] < 1e-5
    assert figures["tiny.cpu_ratio"] > 0
    assert figures["tiny.plain_round_cpu_s"] > 0
