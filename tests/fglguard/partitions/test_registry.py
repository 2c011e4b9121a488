import numpy as np
import pytest

from fglguard.errors import SettingsError
from fglguard.partitions import MIXED_DOMAIN, partition
from fglguard.settings import PartitionSettings


def settings(kind, **changes):
    values = {"within_domains": False, "purity": 0.8, "concentration": 0.5, "exponent": 1.0}
    return PartitionSettings(**{"kind": kind, "key": "", **values, **changes})


def test_by_domain_every_episode_once_and_equal_shares(make_silo):
    silo = make_silo(domains=("a", "b", "c"))
    shares = partition([silo], settings("domain"), 6, seed=0)
    assert [share.site for share in shares] == ["a-0", "a-1", "b-0", "b-1", "c-0", "c-1"]
    held = np.concatenate([share.indices[0] for share in shares])
    assert sorted(held) == list(range(len(silo)))
    for share in shares:
        assert {silo.domains[code] for code in silo.domain[share.indices[0]]} == {share.domain}
    sizes = [len(share.indices[0]) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_iid_deals_every_split_and_label_alike(make_silo):
    silo = make_silo()
    shares = partition([silo], settings("iid"), 4, seed=3)
    assert {share.domain for share in shares} == {MIXED_DOMAIN}
    for split in (0, 1, 2):
        for label in (0, 1):
            inside = (silo.split == split) & (silo.label == label)
            counts = [int(inside[share.indices[0]].sum()) for share in shares]
            # Two domains are dealt one after the other, each to within one.
            assert max(counts) - min(counts) <= 2


def test_several_silos_are_one_corpus(make_silo):
    silos = [make_silo(("a",), name="one"), make_silo(("b",), name="two")]
    shares = partition(silos, settings("domain"), 2, seed=0)
    assert [len(part) for part in shares[0].indices] == [40, 0]
    assert [len(part) for part in shares[1].indices] == [0, 40]


def test_the_seed_decides(make_silo):
    silo = make_silo()

    def deal(seed):
        return partition([silo], settings("domain"), 4, seed)[0].indices[0]

    assert np.array_equal(deal(0), deal(0))
    assert not np.array_equal(deal(0), deal(1))


def test_clients_that_do_not_fit_the_domains_are_refused(make_silo):
    with pytest.raises(SettingsError, match=r"multiple of the corpus' 2 domains \(a, b\).*got 5"):
        partition([make_silo()], settings("domain"), 5, seed=0)


def test_more_clients_than_episodes_are_refused(make_silo):
    with pytest.raises(SettingsError, match="100 clients are more than the corpus can feed"):
        partition([make_silo()], settings("iid"), 100, seed=0)
