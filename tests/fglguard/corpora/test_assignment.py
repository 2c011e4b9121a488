import itertools

import numpy as np
import pytest

from fglguard.corpora.assignment import SplitProblem, assign

SHARES = np.array([0.6, 0.2, 0.2])


def problem():
    """A grid of two user tasks and two injection tasks, one episode each, and a lone task."""
    pairs = [(f"u{u}", f"i{i}") for u in range(2) for i in range(2)]
    return SplitProblem.of([*pairs, ("t",)], [("all",)] * 5, SHARES)


def test_an_episode_whose_units_disagree_is_left_out():
    """Units are numbered u0, i0, i1, u1, t; u0 and i0 in train, the others as given."""
    sides = problem().sides_of_rows(np.array([0, 0, 1, 1, 2]))
    assert sides.tolist() == [0, 255, 255, 1, 2]


def test_cost_by_hand():
    """Three of five kept, a third on each side.

    (1/3 - .6)^2 / .6 + 2 (1/3 - .2)^2 / .2 = .118519 + .177778; .4 are left out:
    .1 x .4 + 5 x (.4 - .39) = .09.
    """
    assert problem().cost(np.array([0, 0, 1, 1, 2])) == pytest.approx(0.2962963 + 0.09)


def test_cost_counts_a_side_without_an_episode():
    """All on train: (1 - .6)^2 / .6 + 2 x .2 = .666667, and two sides are empty."""
    assert problem().cost(np.zeros(5, dtype=np.int64)) == pytest.approx(0.6666667 + 2)


def test_the_best_of_all_assignments_is_found():
    """Brute force over the 3^5 assignments of the five units."""
    small = problem()
    best = min(small.cost(np.array(sides)) for sides in itertools.product(range(3), repeat=5))
    codes = assign(small, np.random.SeedSequence(0))
    held = np.bincount(codes[codes != 255], minlength=3)
    apart = ((held / held.sum() - SHARES) ** 2 / SHARES).sum()
    left_out = (codes == 255).mean()
    cost = apart + 0.1 * left_out + 5 * max(0, left_out - 0.39) + (held == 0).sum()
    assert cost == pytest.approx(best)
