import numpy as np
import pytest

from fglguard.errors import SettingsError
from fglguard.partitions.quantity import deal_by_size


def sizes(corpus, owners, clients, split=0):
    return np.bincount(owners[corpus.split == split], minlength=clients)


def test_sizes_by_hand(make_corpus, make_settings):
    """Weights 1, 1/2, 1/3 are 6/11, 3/11, 2/11: of 22 training episodes 12, 6 and 4."""
    corpus = make_corpus([[[12, 10, 0]]])
    owners = deal_by_size(corpus, make_settings("quantity"), 3, np.random.default_rng(0)).owners
    assert sizes(corpus, owners, 3).tolist() == [12, 6, 4]


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.7])
@pytest.mark.parametrize("within", [False, True])
def test_sizes_are_proportional_in_every_split(make_corpus, make_settings, exponent, within):
    corpus = make_corpus([[[120, 80, 4], [31, 20, 0], [40, 25, 1]]] * 2)
    settings = make_settings("quantity", exponent=exponent, within_domains=within)
    owners = deal_by_size(corpus, settings, 10, np.random.default_rng(1)).owners
    each = 5 if within else 10
    weights = np.array([(k + 1.0) ** -exponent for k in range(each)])
    for split, total in ((0, 408), (1, 102), (2, 132)):
        total = total // 2 if within else total
        expected = np.tile(weights / weights.sum() * total, 10 // each)
        assert np.abs(sizes(corpus, owners, 10, split) - expected).max() < 1


def test_every_client_has_about_the_mix_of_all(make_corpus, make_settings):
    """40 % unsafe; systematic sampling is a few episodes off at most."""
    corpus = make_corpus([[[300, 200, 0]]] * 2)
    owners = deal_by_size(corpus, make_settings("quantity"), 5, np.random.default_rng(3)).owners
    for client in range(5):
        labels = corpus.label[owners == client]
        assert abs((labels == 1).sum() - 0.4 * len(labels)) < 4


def test_a_client_without_training_is_refused(make_corpus, make_settings):
    """Weight 10^-3 / 1.1975 of 100 episodes is 0.084 of one."""
    corpus = make_corpus([[[60, 40, 0]]])
    with pytest.raises(SettingsError, match=r"federation\.clients: 10 .*exponent=3.* 0\.084 of"):
        deal_by_size(corpus, make_settings("quantity", exponent=3.0), 10, np.random.default_rng(0))
