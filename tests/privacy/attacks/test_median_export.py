"""What is left of noise after averaging."""

import math

import pytest
import torch
from torch import nn

from privacy.attacks.median_export import median_export
from privacy.attacks.observation import Observation


def seen(count):
    draw = torch.Generator().manual_seed(0)
    exports = [{"w": 2.0 + torch.randn(200, 200, generator=draw)} for _ in range(count)]
    return Observation(nn.Linear(1, 1), exports, {"w": 1.0})


def test_noise_left():
    """sigma / sqrt(T) for the mean, sqrt(pi / 2) times that for the median; T = 25."""
    one = median_export(seen(25))
    expected = 0.2 * math.sqrt(math.pi / 2)
    assert one.sigma["w"] == pytest.approx(expected)
    assert (one.exports[0]["w"] - 2.0).std().item() == pytest.approx(expected, rel=0.03)
    assert len(one.exports) == 1
    mean = torch.stack([export["w"] for export in seen(25).exports]).mean(0) - 2.0
    assert mean.std().item() == pytest.approx(0.2, rel=0.03)


def test_one_export_is_left_as_it_is():
    single = seen(1)
    assert median_export(single) is single
