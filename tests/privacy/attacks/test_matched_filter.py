"""The matched filter's distribution under noise, and on a planted signal."""

import math

import pytest
import torch

from privacy.attacks.matched_filter import filter_response


def test_null_distribution():
    """|Z x|^2 of a unit x is chi-squared with m degrees of freedom: mean m, variance 2 m.

    4000 independent matrices: the mean of z lies within 4 / sqrt(4000) of 0, its standard deviation
    within 6 % of 1.
    """
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(8, generator=draw)
    noise = 0.3 * torch.randn(4000, 50, 8, generator=draw)
    z = torch.stack([filter_response(matrix, x, 0.3) for matrix in noise])
    assert abs(z.mean().item()) < 4 / math.sqrt(4000)
    assert z.std().item() == pytest.approx(1.0, abs=0.06)


def test_response_of_a_signal_without_noise():
    """G = 3 e_1 e_1^T, sigma 1, m = 2: (9 - 2) / sqrt(4) = 3.5 along e_1, -1 across."""
    gradient = torch.tensor([[3.0, 0.0], [0.0, 0.0]])
    z = filter_response(gradient, torch.tensor([[5.0, 0.0], [0.0, 1.0]]), 1.0)
    assert z.tolist() == pytest.approx([3.5, -1.0])
