"""What is left of noise after averaging."""

import math

import pytest
import torch
from torch import nn

from privacy.attacks.averaging import averaged
from privacy.attacks.observation import Observation


def seen(count):
    draw = torch.Generator().manual_seed(0)
    exports = [{"w": 2.0 + torch.randn(200, 200, generator=draw)} for _ in range(count)]
    return Observation(nn.Linear(1, 1), exports, {"w": 1.0})


@pytest.mark.parametrize("average", ["mean", "median"])
def test_noise_left(average):
    """sigma / sqrt(T) for the mean, sqrt(pi / 2) times that for the median; T = 25."""
    one = averaged(seen(25), average)
    left = one.exports[0]["w"] - 2.0
    expected = 0.2 * (1.0 if average == "mean" else math.sqrt(math.pi / 2))
    assert one.sigma["w"] == pytest.approx(expected)
    assert left.std().item() == pytest.approx(expected, rel=0.03)
    assert len(one.exports) == 1


def test_one_export_is_left_as_it_is():
    single = seen(1)
    assert averaged(single, "median") is single
