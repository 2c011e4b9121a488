import math

import pytest
import torch

from fglguard.errors import PrivacyError
from privacy.levels import (
    checked_sigma,
    flood_sigma,
    largest_singular_value,
    row_sigma,
    whole_sigma,
)

COMMON = {"candidates": 30_522, "exports": 1}
LEVELS = ("edge", "bbp", "span")


def spike(m: int, n: int, strength: float) -> torch.Tensor:
    """A rank-one matrix whose only singular value is `strength`."""
    left, right = torch.ones(m, 1) / math.sqrt(m), torch.ones(1, n) / math.sqrt(n)
    return strength * left @ right


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        # s1 = 6, m = 16, n = 81.
        ("edge", 6 / (4 + 9)),
        ("bbp", 6 / 6),  # (16 * 81)^(1/4) = 1296^(1/4) = 6
        ("span", 6 / (4 * 16 * math.log(30_522)) ** 0.25),
    ],
)
def test_the_levels_by_hand(level, expected) -> None:
    assert flood_sigma(spike(16, 81, 6.0), level, **COMMON) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("inputs", [1, 10, 41, 42, 400])
def test_the_levels_are_a_ladder(inputs) -> None:
    """Alone, the formula of span falls below bbp's for n < 4 ln N, here 41.3 inputs."""
    edge, bbp, span = (flood_sigma(spike(16, inputs, 1.0), one, **COMMON) for one in LEVELS)
    assert edge <= bbp <= span
    assert (span > bbp) is (inputs > 4 * math.log(30_522))


def test_noise_of_a_whole_export_depends_on_its_bound_alone() -> None:
    """sigma = clip sqrt(T) / kappa: 2 * 3 / 0.5."""
    assert whole_sigma(2.0, kappa=0.5, exports=9) == pytest.approx(12.0)


@pytest.mark.parametrize("level", LEVELS)
def test_a_budget_of_exports_multiplies_by_its_root(level) -> None:
    once = flood_sigma(spike(8, 8, 2.0), level, **COMMON)
    assert flood_sigma(spike(8, 8, 2.0), level, **{**COMMON, "exports": 9}) == pytest.approx(
        3 * once
    )


def test_edge_matches_the_largest_singular_value_of_the_noise_alone() -> None:
    """Bai and Yin: s1 of an m x n Gaussian matrix tends to sigma (sqrt m + sqrt n)."""
    sigma = flood_sigma(spike(400, 900, 1.0), "edge", **COMMON)
    noise = sigma * torch.randn(400, 900, generator=torch.Generator().manual_seed(0))
    assert torch.linalg.matrix_norm(noise, 2).item() == pytest.approx(1.0, rel=0.02)


def test_bbp_is_where_a_spike_leaves_the_bulk() -> None:
    """Below s1 = sigma (m n)^(1/4) the top singular vector is unrelated to the spike's; at three
    times that, it points along it: squared cosine 1 - m (n + x^2) / (x^2 (x^2 + m)) with x = s1 /
    sigma (Benaych-Georges and Nadakuditi, 2012), about 0.9 for m = n and x = 3 sqrt(n)."""
    m = n = 400
    generator = torch.Generator().manual_seed(1)
    direction = torch.ones(n) / math.sqrt(n)
    cosines = []
    for times in (1.0, 3.0):
        signal = spike(m, n, 1.0)
        sigma = flood_sigma(signal, "bbp", **COMMON) / times
        noisy = signal + sigma * torch.randn(m, n, generator=generator)
        cosines.append(abs(torch.linalg.svd(noisy)[2][0] @ direction).item() ** 2)
    x2 = 9 * n
    theory = 1 - m * (n + x2) / (x2 * (x2 + m))
    assert cosines[0] < 0.3
    assert cosines[1] == pytest.approx(theory, abs=0.03)


def test_span_lifts_the_true_direction_to_the_largest_of_its_candidates() -> None:
    """|G' x|^2 / sigma^2 of the true x is noncentral chi-squared: mean m + sqrt(4 m ln N)."""
    m, n, candidates, draws = 64, 48, 5000, 400
    generator = torch.Generator().manual_seed(2)
    signal = spike(m, n, 1.0)
    sigma = flood_sigma(signal, "span", **{**COMMON, "candidates": candidates})
    noisy = signal + sigma * torch.randn(draws, m, n, generator=generator)
    true = torch.ones(n) / math.sqrt(n)
    found = (noisy @ true).square().sum(1).mean().item() / sigma**2
    # The mean of 400 draws has a standard deviation of sqrt((2 m + 4 * 46.7) / 400) = 0.9.
    assert found == pytest.approx(m + math.sqrt(4 * m * math.log(candidates)), abs=4)


def test_a_row_is_hidden_within_a_third_of_a_deviation() -> None:
    """For d = 384, kappa^2 = sqrt(768) / 3 = 9.24, kappa = 3.04: the measured value of 3."""
    sigma = row_sigma(3.04, 384, exports=1)
    assert sigma == pytest.approx(1.0, rel=1e-3)
    assert row_sigma(3.04, 384, exports=16) == pytest.approx(4 * sigma)


@pytest.mark.parametrize("shape", [(3, 70), (40, 40), (1, 9), (9, 1)])
def test_the_largest_singular_value_is_the_librarys(shape) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    expected = torch.linalg.matrix_norm(matrix, 2).item()
    assert largest_singular_value(matrix) == pytest.approx(expected, rel=0.03)
    assert largest_singular_value(matrix) <= expected * (1 + 1e-6)
    assert largest_singular_value(torch.zeros(shape)) == 0


def test_a_long_row_by_itself_does_not_hide_many_that_are_alike() -> None:
    """The longest row, 1.1, is orthogonal to two hundred equal ones: s1 = sqrt(200)."""
    matrix = torch.zeros(201, 5)
    matrix[0, 0], matrix[1:, 1] = 1.1, 1.0
    assert largest_singular_value(matrix) == pytest.approx(math.sqrt(200), rel=0.01)


@pytest.mark.parametrize("sigma", [0.0, math.inf, math.nan, -1.0])
def test_noise_of_no_size_or_without_bound_is_refused(sigma) -> None:
    with pytest.raises(PrivacyError, match="expected noise of a size above 0 and finite"):
        checked_sigma(sigma)


@pytest.mark.parametrize("level", LEVELS)
def test_a_zero_gradient_has_no_level(level) -> None:
    with pytest.raises(PrivacyError, match="sigma = 0"):
        flood_sigma(torch.zeros(4, 4), level, **COMMON)


@pytest.mark.parametrize("exponent", [-40, -20, 20])
def test_the_largest_singular_value_scales_with_the_matrix(exponent) -> None:
    """Powers of two round nothing: s1(2^k G) = 2^k s1(G), and s1^4 need not fit a float32.

    Late in training the gradient of a weight whose units hardly react is as short as 1e-12.
    """
    matrix = torch.randn(7, 9, generator=torch.Generator().manual_seed(3))
    scaled = largest_singular_value(matrix * 2.0**exponent)
    assert scaled == largest_singular_value(matrix) * 2.0**exponent
