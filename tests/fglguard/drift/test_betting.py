"""The bet's capital by hand, its mean under uniform ranks, and its growth where they are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.drift.betting import MOST_CAPITAL, SHIFTS, STRENGTHS, BettingTest


def capital_after(ranks):
    test = BettingTest()
    for rank in ranks:
        test.bet(rank)
    return test.capital


def test_two_steps_by_hand() -> None:
    """Ranks 1 and 1. Eight accounts; the two gains that are 1/2 win, the two of -1/2 lose.

    Step 1: half is dealt out, 1/16 each; wins and losses cancel, capital 1. Step 2: the reserve
    falls from 1/2 to 1/3, 1/48 is dealt to each:
        eps 1, winning   (3/32 + 1/48) 3/2 = 11/64,       losing (1/32 + 1/48) 1/2 = 5/192,
        eps 1/4, winning (9/128 + 1/48) 9/8 = 105/1024,   losing (7/128 + 1/48) 7/8 = 203/3072.
    Twice their sum and 1/3 make 3276 / 3072.
    """
    assert capital_after([]) == 1.0
    assert capital_after([1.0]) == pytest.approx(1.0, rel=1e-12)
    assert capital_after([1.0, 1.0]) == pytest.approx(3276 / 3072, rel=1e-12)
    assert capital_after([0.0, 0.0]) == pytest.approx(3276 / 3072, rel=1e-12)


@given(st.lists(st.floats(0, 1), max_size=6))
def test_a_further_uniform_rank_changes_nothing_on_average(ranks) -> None:
    """The martingale property: the mean over u of the next capital is this one.

    Gains are linear between 0, 1/2 and 1, so the mean over (0, 1) is that over the midpoints of
    the two halves, 1/4 and 3/4.
    """
    after = np.mean([capital_after([*ranks, rank]) for rank in (0.25, 0.75)])
    assert after == pytest.approx(capital_after(ranks), rel=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_the_reserve_is_never_lost(ranks) -> None:
    """1 / (t + 1) of the first capital has not been staked after t ranks."""
    assert capital_after(ranks) > 1 / (len(ranks) + 1)


@pytest.mark.parametrize(
    ("draw", "shift"),
    [
        (lambda rng: 1 - rng.random() / 3, "higher"),
        (lambda rng: rng.random() / 3, "lower"),
        (lambda rng: rng.choice([0.05, 0.95]), "further apart"),
        (lambda rng: 0.4 + rng.random() / 5, "closer together"),
    ],
)
def test_each_change_is_found_and_named_even_late(draw, shift) -> None:
    """After 1000 uniform ranks. ln(1 + g) of these draws is 0.28 in the mean or more.

    (Of g uniform on [1/6, 1/2] it is 0.285, of g = 0.4 it is 0.336.) So 150 of them bring 42, and
    2 ln 1000 + ln 8 + ln 100 = 20.5 is what being late, eight accounts and alpha = 0.01 take.
    """
    rng = np.random.default_rng(3)
    test = BettingTest()
    for rank in rng.random(1000):
        test.bet(rank)
    assert test.capital < 100
    for _ in range(150):
        test.bet(draw(rng))
    assert test.capital > 100
    assert test.shift == shift


def test_capital_stays_finite() -> None:
    assert capital_after([1.0] * 5000) <= MOST_CAPITAL * len(SHIFTS) * len(STRENGTHS) + 1
