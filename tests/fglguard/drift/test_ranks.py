"""Ranks by hand, and uniform whatever the reference's size."""

from random import Random

import numpy as np
import pytest

from fglguard.drift.ranks import ConformalRanks


def test_ranks_by_hand() -> None:
    """Reference 2, 1 and 1 of four; then a score in bin 1, then one in bin 2.

    u_1 = (2 + 2 U_1) / 5 and, the first score now being in bin 1, u_2 = (4 + 2 U_2) / 6.
    """
    ties = Random(7)
    ranks = ConformalRanks((2, 1, 1), seed=7)
    assert ranks.rank(1) == pytest.approx((2 + 2 * ties.random()) / 5)
    assert ranks.rank(2) == pytest.approx((4 + 2 * ties.random()) / 6)


def test_ranks_are_uniform_and_independent_with_a_tiny_reference() -> None:
    """3000 references of 3 scores, 4 live ones each: moments of uniform variables to six errors.

    Mean 1/2 and variance 1/12 give an error of sqrt(1 / 12 / 3000) = 0.0053 of the mean; the
    product of two centred ones has mean 0 and deviation 1/12, an error of 0.0015.
    """
    rng = np.random.default_rng(2)
    shares = [0.5, 0.1, 0.4]
    found = []
    for turn in range(3000):
        ranks = ConformalRanks(rng.multinomial(3, shares).tolist(), seed=turn)
        found.append([ranks.rank(code) for code in rng.choice(3, 4, p=shares).tolist()])
    values = np.array(found)
    assert np.all((values >= 0) & (values < 1))
    assert np.abs(values.mean(axis=0) - 0.5).max() < 6 * 0.0053
    centred = values - 0.5
    products = centred.T @ centred / len(values)
    assert np.abs(products - np.eye(4) / 12).max() < 6 * 0.0015
