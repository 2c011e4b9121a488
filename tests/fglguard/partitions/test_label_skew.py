import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fglguard.errors import SettingsError
from fglguard.partitions.label_skew import deal_by_purity, training_counts

MORE_SAFE = [[[62, 38, 0], [20, 10, 3], [21, 11, 0]]]
"""One domain: safe, unsafe and unknown episodes in train, val and test."""


def test_sizes_by_hand():
    """62 safe, 38 unsafe, 4 clients, p = .8: s = 2 x 38 / 4 = 19 of which round(15.2) = 15.

    All 38 unsafe ones are used up; a 20th of the 62 safe ones fits where round(16) of 20 are safe.
    """
    counts = training_counts((62, 38), np.array([0, 1, 0, 1]), 0.8)
    assert counts.tolist() == [[16, 4, 16, 4], [4, 15, 4, 15]]


def test_the_odd_client_by_hand():
    """p = 1, majorities safe, unsafe, safe: 62 / 2 = 31 each; one unsafe one more fits."""
    counts = training_counts((62, 38), np.array([0, 1, 0]), 1.0)
    assert counts.tolist() == [[31, 0, 31], [0, 32, 0]]


def half_up(value):
    return int(np.floor(value + 0.5))


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    safe=st.integers(0, 80),
    unsafe=st.integers(0, 80),
    clients=st.integers(1, 9),
    purity=st.floats(0.5, 1),
)
def test_purity_is_reached_at_the_largest_equal_size(safe, unsafe, clients, purity):
    """Against every size tried in turn: the largest at which both labels suffice."""
    majority = np.arange(clients) % 2
    counts = training_counts((safe, unsafe), majority, purity)
    assert (counts.sum(axis=1) <= [safe, unsafe]).all()
    sizes = counts.sum(axis=0)
    most = counts[majority, np.arange(clients)]
    assert (np.abs(most - purity * sizes) <= 0.5 + 1e-9).all()
    assert sizes.max() - sizes.min() <= 1

    def fits(size):
        mine = half_up(purity * size)
        needs = [sum(mine if m == y else size - mine for m in majority) for y in (0, 1)]
        return needs[0] <= safe and needs[1] <= unsafe

    assert sizes.min() == max(size for size in range(safe + unsafe + 1) if fits(size))


@pytest.mark.parametrize("purity", [0.5, 0.65, 0.8, 1.0])
def test_every_client_has_the_purity_and_all_have_one_size(make_corpus, make_settings, purity):
    corpus = make_corpus(MORE_SAFE)
    settings = make_settings("label_skew", purity=purity)
    owners = deal_by_purity(corpus, settings, 4, np.random.default_rng(0)).owners
    train = corpus.split == 0
    sizes = []
    for client in range(4):
        labels = corpus.label[train & (owners == client)]
        # Even clients are majority-safe: safe episodes are commoner in training.
        share = np.mean(labels == client % 2)
        assert abs(share - purity) <= 0.5 / len(labels) + 1e-9
        sizes.append(len(labels))
    assert max(sizes) - min(sizes) <= 1
    # 2 x 38 to within rounding: as much data at every purity.
    assert abs(sum(sizes) - 76) <= 4
    left_out = train & (owners == -1)
    assert left_out.sum() == 100 - sum(sizes)
    assert (owners[~train] >= 0).all()


def test_validation_and_test_follow_the_training_labels(make_corpus, make_settings):
    """At p = 1 the two majority-safe clients share the safe episodes alone."""
    corpus = make_corpus(MORE_SAFE)
    settings = make_settings("label_skew", purity=1.0)
    owners = deal_by_purity(corpus, settings, 4, np.random.default_rng(0)).owners
    for split, safe, unsafe in ((1, 20, 10), (2, 21, 11)):
        for label, total in ((0, safe), (1, unsafe)):
            held = np.bincount(
                owners[(corpus.split == split) & (corpus.label == label)], minlength=4
            )
            assert held[1 - label :: 2].sum() == 0
            assert held.sum() == total and np.ptp(held[label::2]) <= 1


def test_the_commoner_label_comes_first(make_corpus, make_settings):
    corpus = make_corpus([[[20, 50, 0]]])
    settings = make_settings("label_skew", purity=1.0)
    owners = deal_by_purity(corpus, settings, 3, np.random.default_rng(0)).owners
    assert [int(corpus.label[owners == client].mean()) for client in range(3)] == [1, 0, 1]


def test_within_domains_majorities_alternate_over_the_federation(make_corpus, make_settings):
    """Three clients a domain: safe, unsafe, safe and unsafe, safe, unsafe: half of the six."""
    corpus = make_corpus([[[60, 40, 0]], [[60, 40, 0]]])
    settings = make_settings("label_skew", purity=0.8, within_domains=True)
    ownership = deal_by_purity(corpus, settings, 6, np.random.default_rng(0))
    unsafe = [corpus.label[ownership.owners == client].mean() > 0.5 for client in range(6)]
    assert unsafe == [False, True] * 3
    assert ownership.domains == ["d0"] * 3 + ["d1"] * 3


def test_a_missing_label_is_refused(make_corpus, make_settings):
    corpus = make_corpus([[[60, 0, 0]]])
    with pytest.raises(SettingsError, match=r"60 safe and 0 unsafe.*partition\.purity=0\.8"):
        deal_by_purity(corpus, make_settings("label_skew"), 4, np.random.default_rng(0))
