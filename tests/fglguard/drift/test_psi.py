"""PSI against closed forms, and its mean against the one of its chi-squared law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.drift.psi import expected_without_drift, population_stability_index
from fglguard.errors import DriftError

COUNTS = st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any)


def test_two_bins_by_hand() -> None:
    """Live 3 and 1, reference 1 and 3: c = 1/2, K / 2 = 1, so p = (3.5 / 5, 1.5 / 5), q reversed.

    PSI = 2 (0.7 - 0.3) ln(7 / 3).
    """
    expected = 0.8 * math.log(7 / 3)
    assert population_stability_index([3, 1], [1, 3]) == pytest.approx(expected, rel=1e-12)


def test_an_empty_bin_by_hand() -> None:
    """Live 4 and 0, reference 2 and 2: c = (3/4, 1/4), so p = (4.75, 0.25) / 5.

    And q = (2.75, 2.25) / 5.
    """
    expected = 0.4 * math.log(4.75 / 2.75) + (0.05 - 0.45) * math.log(0.25 / 2.25)
    assert population_stability_index([4, 0], [2, 2]) == pytest.approx(expected, rel=1e-12)


def test_without_smoothing_to_speak_of_it_is_the_textbook_sum() -> None:
    """In large samples half a count a bin vanishes: p = (0.2, 0.3, 0.5), q = (0.3, 0.4, 0.3)."""
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.4, 0.3])
    found = population_stability_index((p * 1e9).astype(int), (q * 1e9).astype(int))
    assert found == pytest.approx(float(np.sum((p - q) * np.log(p / q))), rel=1e-7)


@given(COUNTS, COUNTS)
def test_it_is_a_divergence_and_symmetric(live, reference) -> None:
    found = population_stability_index(live, reference)
    assert found >= -1e-12
    assert found == pytest.approx(population_stability_index(reference, live), abs=1e-12)
    padded = population_stability_index([*live, 0], [*reference, 0])
    assert padded == pytest.approx(found, abs=1e-12)


@given(COUNTS, st.integers(1, 40))
def test_counts_in_proportion_are_alike(counts, times) -> None:
    found = population_stability_index([times * count for count in counts], counts)
    assert found == pytest.approx(0, abs=1e-12)


def test_the_mean_without_drift() -> None:
    """Of 2000 pairs of samples, PSI / (1 / n + 1 / m) has mean 4 to six standard errors.

    Its variance is that of chi-squared with 4 degrees, 8, so six standard errors are 0.38; the
    smoothing of five full bins takes less than 2 %, 0.08.
    """
    rng = np.random.default_rng(1)
    n, m, shares = 400, 300, [0.2] * 5
    values = [
        population_stability_index(rng.multinomial(n, shares), rng.multinomial(m, shares))
        for _ in range(2000)
    ]
    usual = expected_without_drift([80] * 5, [60] * 5)
    assert usual == pytest.approx(4 * (1 / n + 1 / m))
    assert abs(np.mean(values) / usual * 4 - 4) < 0.38 + 0.08


@pytest.mark.parametrize("compare", [population_stability_index, expected_without_drift])
def test_nothing_to_compare_is_an_error(compare) -> None:
    with pytest.raises(DriftError, match="expected live and reference scores, got 0 and 2"):
        compare([0, 0], [1, 1])
    with pytest.raises(DriftError, match="as many live as reference bins"):
        compare([1, 1], [1, 1, 1])
