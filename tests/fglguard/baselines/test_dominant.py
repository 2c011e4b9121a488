"""Reconstruction errors computed by hand on three nodes in a row."""

import math

import pytest
import torch

from fglguard.baselines.dominant import Reconstruction
from fglguard.packed_graphs import collate


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def unit_weights(dimension: int = 1) -> Reconstruction:
    """Every layer passes its first unit on, times 1."""
    guard = Reconstruction(dimension, 0)
    with torch.no_grad():
        for weight in guard.parameters():
            weight.zero_()
            weight[0, 0] = 1
    return guard


def test_anomaly_of_three_nodes_in_a_row(path_graph) -> None:
    """By hand. Degrees with self-loops are 2, 3, 2, so S has rows (1/2, r, 0), (r, 1/3, r),
    (0, r, 1/2) with r = 1/sqrt(6). With x = (1, 0, 0): S x = (1/2, r, 0), z = S S x =
    (5/12, 5r/6, 1/6), x^ = S z = (25/72, 31r/36, 2/9).
    """
    r = 1 / math.sqrt(6)
    z = (5 / 12, 5 * r / 6, 1 / 6)
    misses = (47 / 72, 31 * r / 36, 2 / 9)
    adjacency = ((1, 1, 0), (1, 1, 1), (0, 1, 1))
    expected = [
        0.8 * misses[i]
        + 0.2 * math.sqrt(sum((adjacency[i][j] - sigmoid(z[i] * z[j])) ** 2 for j in range(3)))
        for i in range(3)
    ]
    batch = collate(path_graph([1, 0, 0]))
    assert unit_weights().anomaly(batch).tolist() == pytest.approx(expected, abs=1e-6)


def test_without_weights_everything_is_missed(path_graph) -> None:
    """Z = 0: attributes are missed whole and every edge by 1/2, so the sums are closed forms."""
    guard = Reconstruction(2, 0)
    with torch.no_grad():
        for weight in guard.parameters():
            weight.zero_()
    batch = collate(path_graph([[3, 4], [0, 0], [0, 1]]))
    edges = 0.2 * math.sqrt(3 / 4)
    expected = [0.8 * 5 + edges, edges, 0.8 + edges]
    assert guard.anomaly(batch).tolist() == pytest.approx(expected)
    assert guard.loss(batch).item() == pytest.approx(0.8 * (25 + 0 + 1) / 3 + 0.2 * 3 / 4)
