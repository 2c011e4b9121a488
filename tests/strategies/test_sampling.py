import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from strategies.sampling import clients_asked, clients_needed, draw_clients, first_to_finish

hundredths = st.integers(1, 100)


@pytest.mark.parametrize(
    ("clients", "fraction", "needed"),
    [(8, 1.0, 8), (8, 0.5, 4), (10, 0.25, 3), (1000, 0.1, 100), (100, 0.07, 7), (3, 0.01, 1)],
)
def test_needed_by_hand(clients, fraction, needed):
    """ceil(10 * 0.25) = ceil(2.5) = 3; in doubles 100 * 0.07 = 7.000000000000001, which is 7."""
    assert clients_needed(clients, fraction) == needed


@given(st.integers(1, 2000), hundredths)
def test_needed_is_the_exact_ceiling(clients, percent):
    """In whole numbers: ceil(a / b) = -(-a // b)."""
    assert clients_needed(clients, percent / 100) == -(-clients * percent // 100)


@pytest.mark.parametrize(
    ("clients", "needed", "over", "asked"),
    [(10, 4, 0.0, 4), (10, 4, 0.3, 6), (10, 4, 0.25, 5), (5, 4, 1.0, 5), (1000, 100, 0.1, 110)],
)
def test_asked_by_hand(clients, needed, over, asked):
    """ceil(4 * 1.3) = ceil(5.2) = 6; never more than there are; 100 * 1.1 is exactly 110."""
    assert clients_asked(clients, needed, over) == asked


@given(
    st.sets(st.integers(0, 5000), min_size=1, max_size=60),
    st.data(),
    st.integers(0, 2**32 - 1),
    st.integers(1, 500),
    st.integers(0, 3),
)
def test_a_draw_is_a_subset_of_the_right_size_and_the_same_again(
    indices, data, seed, server_round, attempt
):
    count = data.draw(st.integers(1, len(indices)))
    drawn = draw_clients(sorted(indices), count, seed, server_round, attempt)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == count
    assert set(drawn) <= indices
    backwards = sorted(indices, reverse=True)
    assert drawn == draw_clients(backwards, count, seed, server_round, attempt)


def test_every_pair_of_five_is_drawn_alike():
    """Chi-square over the 10 pairs of 5 clients in 4000 rounds, seed fixed; p above 1 %.

    Counting whole pairs sees dependence between clients too, not only how often each is drawn.
    """
    drawn = Counter(tuple(draw_clients(range(5), 2, 7, r, 0)) for r in range(1, 4001))
    counts = [drawn[pair] for pair in combinations(range(5), 2)]
    assert sum(counts) == 4000
    assert chisquare(counts).pvalue > 0.01


def test_every_client_of_many_is_drawn_alike():
    """Chi-square of how often each of 50 clients is among 5 in 2000 rounds.

    Draws within a round exclude each other, so each count's variance is n p (1 - p), not n p: the
    statistic is divided by 1 - p = 0.9, with K - 1 degrees of freedom.
    """
    drawn = Counter(c for r in range(1, 2001) for c in draw_clients(range(50), 5, 3, r, 0))
    statistic = sum((drawn[c] - 200) ** 2 / 200 for c in range(50)) / 0.9
    # 99th percentile of chi-square with 49 degrees of freedom.
    assert statistic < 74.92


def test_seed_round_and_attempt_each_change_the_draw():
    draws = {
        tuple(draw_clients(range(1000), 10, seed, server_round, attempt))
        for seed in range(5)
        for server_round in range(1, 6)
        for attempt in range(3)
    }
    assert len(draws) == 75


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.data(),
)
def test_the_fastest_count_and_ties_go_by_index(seconds, data):
    """Brute force: a client counts if fewer than `needed` others are strictly ahead of it."""
    needed = data.draw(st.integers(1, len(seconds)))
    finished = [(float(s), index) for index, s in enumerate(seconds)]
    expected = [
        place
        for place, own in enumerate(finished)
        if sum(other < own for other in finished) < needed
    ]
    assert first_to_finish(finished, needed) == expected


@given(st.integers(1, 50), st.integers(0, 300))
def test_asked_is_never_fewer_than_needed(needed, percent):
    asked = clients_asked(10_000, needed, percent / 100)
    assert asked == math.ceil(Fraction(needed * (100 + percent), 100))
    assert asked >= needed
