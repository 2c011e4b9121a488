import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.partitions.dealing import deal_counts, round_to_sum


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=20).filter(lambda ws: sum(ws) > 1e-3),
    st.integers(0, 5000),
)
def test_rounding_keeps_the_sum_and_stays_within_one(weights, total):
    """The quota property of largest remainders."""
    rounded = round_to_sum(weights, total)
    assert rounded.sum() == total
    assert np.abs(rounded - np.array(weights) / sum(weights) * total).max() < 1 + 1e-6


def test_rounding_by_hand():
    """10 x (.46, .34, .2) = 4.6, 3.4, 2: the one that is left goes to the largest remainder."""
    assert round_to_sum([0.46, 0.34, 0.2], 10).tolist() == [5, 3, 2]
    assert round_to_sum([0, 0], 0).tolist() == [0, 0]


def test_counts_are_met_exactly(make_corpus):
    corpus = make_corpus([[[30, 20, 5]], [[7, 40, 0]]])
    eligible = corpus.label >= 0
    counts = np.array([0, 60, 1, 36])
    owners = deal_counts(corpus, eligible, counts, np.random.default_rng(1))
    assert np.bincount(owners[eligible], minlength=4).tolist() == counts.tolist()
    assert (owners[~eligible] == -1).all()


@pytest.mark.parametrize("seed", range(20))
def test_equal_counts_spread_over_the_strata(make_corpus, seed):
    """Each of the row's blocks of 4 places holds every client once.

    A stratum of m places cuts at most two blocks, so a client holds m / 4 of it to within 2.
    """
    corpus = make_corpus([[[30, 21, 0]], [[9, 40, 0]]])
    everything = np.ones(len(corpus), dtype=bool)
    owners = deal_counts(corpus, everything, np.full(4, 25), np.random.default_rng(seed))
    for domain in (0, 1):
        for label in (0, 1):
            stratum = owners[(corpus.domain == domain) & (corpus.label == label)]
            held = np.bincount(stratum, minlength=4)
            assert np.abs(held - len(stratum) / 4).max() < 2
