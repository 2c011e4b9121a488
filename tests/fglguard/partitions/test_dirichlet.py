import numpy as np
import pytest

from fglguard.errors import SettingsError
from fglguard.partitions.dirichlet import deal_by_dirichlet


def held(corpus, owners, clients, split, label):
    rows = (corpus.split == split) & (corpus.label == label)
    return np.bincount(owners[rows], minlength=clients)


def test_mean_and_variance_are_those_of_the_distribution(make_corpus, make_settings):
    """q ~ Dirichlet(a, .., a) over K has mean 1 / K, variance (K - 1) / (K^2 (K a + 1)).

    K = 4, a = 2: 0.25 and 0.0208. 400 draws: four standard errors of the mean, a quarter of the
    variance; rounding to 1 / 500 adds next to nothing, and no draw leaves a client empty.
    """
    corpus = make_corpus([[[500, 500, 0]]])
    settings = make_settings("dirichlet", concentration=2.0)
    rng = np.random.default_rng(5)
    shares = np.array(
        [
            [
                held(corpus, owners, 4, 0, label) / 500
                for owners in [deal_by_dirichlet(corpus, settings, 4, rng).owners]
                for label in (0, 1)
            ]
            for _ in range(400)
        ]
    )
    variance = 3 / (16 * 9)
    assert np.abs(shares.mean(axis=0) - 0.25).max() < 4 * np.sqrt(variance / 400)
    assert shares.var(axis=0) == pytest.approx(np.full((2, 4), variance), rel=0.25)
    # Labels are drawn apart: no correlation, standard error 1 / sqrt(400).
    assert abs(np.corrcoef(shares[:, 0, 0], shares[:, 1, 0])[0, 1]) < 0.2


def test_each_split_is_dealt_in_the_same_proportions(make_corpus, make_settings):
    """Largest remainders are less than one off, so 1000 and 200 times q differ by that much."""
    corpus = make_corpus([[[1000, 1000, 0], [200, 200, 0], [200, 200, 0]]])
    owners = deal_by_dirichlet(
        corpus, make_settings("dirichlet"), 5, np.random.default_rng(2)
    ).owners
    for label in (0, 1):
        train = held(corpus, owners, 5, 0, label)
        for split in (1, 2):
            assert np.abs(held(corpus, owners, 5, split, label) - train / 5).max() < 1.2


def test_a_large_concentration_deals_evenly(make_corpus, make_settings):
    corpus = make_corpus([[[100, 60, 0]]])
    settings = make_settings("dirichlet", concentration=1e7)
    owners = deal_by_dirichlet(corpus, settings, 4, np.random.default_rng(0)).owners
    assert np.abs(held(corpus, owners, 4, 0, 0) - 25).max() <= 1
    assert np.abs(held(corpus, owners, 4, 0, 1) - 15).max() <= 1


@pytest.mark.parametrize("seed", range(10))
def test_draws_until_every_client_has_something(make_corpus, make_settings, seed):
    """At concentration 0.3 most first draws leave one of 8 clients without any of 80 episodes."""
    corpus = make_corpus([[[50, 30, 0]]])
    settings = make_settings("dirichlet", concentration=0.3)
    owners = deal_by_dirichlet(corpus, settings, 8, np.random.default_rng(seed)).owners
    assert np.bincount(owners, minlength=8).min() > 0


def test_gives_up_with_what_to_change(make_corpus, make_settings):
    corpus = make_corpus([[[50, 30, 0]]])
    settings = make_settings("dirichlet", concentration=0.01)
    with pytest.raises(
        SettingsError, match=r"federation\.clients: 40 .* 80 labelled .*concentration=0\.01"
    ):
        deal_by_dirichlet(corpus, settings, 40, np.random.default_rng(0))


@pytest.mark.parametrize("concentration", [1e-320, 1e308])
def test_an_extreme_concentration_is_an_error_or_a_deal(make_corpus, make_settings, concentration):
    corpus = make_corpus([[[50, 30, 0]]])
    settings = make_settings("dirichlet", concentration=concentration)
    with pytest.raises(SettingsError, match=r"concentration"):
        deal_by_dirichlet(corpus, settings, 4, np.random.default_rng(0))
