import numpy as np
import pytest
import torch
from scipy import stats

from privacy.noise import SecureNoise, SeededNoise

SOURCES = [SeededNoise((1, 2, 3)), SecureNoise()]


@pytest.mark.parametrize("noise", SOURCES, ids=["seeded", "secure"])
@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_it_is_gaussian_of_the_size_asked_for(noise, sigma) -> None:
    """Kolmogorov and Smirnov against N(0, sigma^2); a right source fails once in 100 000 times."""
    values = noise.fill(torch.empty(300, 700), sigma).numpy().ravel()
    assert stats.kstest(values, stats.norm(scale=sigma).cdf).pvalue > 1e-5


@pytest.mark.parametrize("noise", SOURCES, ids=["seeded", "secure"])
def test_numbers_are_independent_of_those_before(noise) -> None:
    """Lag-1 and half-way correlations of n numbers are within 5 / sqrt n of zero."""
    values = noise.fill(torch.empty(200_001), 1.0).numpy().astype(np.float64)
    for lag in (1, 2, len(values) // 2, len(values) // 2 + 1):
        correlation = float(np.corrcoef(values[:-lag], values[lag:])[0, 1])
        assert abs(correlation) < 5 / np.sqrt(len(values) - lag)


def test_a_seed_repeats_and_another_does_not() -> None:
    first, again, other = (
        SeededNoise(seed).fill(torch.empty(50), 1.0) for seed in ((1, 2), (1, 2), (1, 3))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_site_never_repeats() -> None:
    assert not torch.equal(
        SecureNoise().fill(torch.empty(50), 1.0), SecureNoise().fill(torch.empty(50), 1.0)
    )


def test_the_secure_source_is_finite_at_the_ends_of_its_words() -> None:
    """u = 0 and u = 1 are both possible words: ln u must stay finite."""
    noise = SecureNoise()
    noise._stream = _Words(bytes(8) + b"\xff" * 8)
    values = noise.fill(torch.empty(4), 1.0)
    assert values.isfinite().all()
    # u = 2^-32: sqrt(2 * 32 ln 2) = 6.66 is the largest number there can be.
    assert values.abs().max().item() == pytest.approx(6.66, abs=0.01)


class _Words:
    def __init__(self, words: bytes) -> None:
        self.words = words

    def update(self, data: bytes) -> bytes:
        return self.words[: len(data)]


def test_a_large_tensor_is_filled_to_its_end() -> None:
    values = SecureNoise().fill(torch.zeros((1 << 22) + 3), 1.0)
    assert (values[-3:] != 0).all()
    assert (values == 0).sum() < 10
