from typing import get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fglguard.errors import SettingsError
from fglguard.partitions import KINDS, MIXED_DOMAIN, partition
from fglguard.settings import PartitionSettings

DRAWN = ("domain", "iid", "label_skew", "dirichlet", "quantity")
"""Every kind but `natural`, which needs attributes and has its own tests."""


def test_every_kind_that_settings_allow_is_there():
    assert set(KINDS) == set(get_args(get_type_hints(PartitionSettings)["kind"]))


def test_by_domain_every_episode_once_and_equal_shares(make_silo, make_settings):
    silo = make_silo(domains=("a", "b", "c"))
    shares = partition([silo], make_settings("domain"), 6, seed=0)
    assert [share.site for share in shares] == ["a-0", "a-1", "b-0", "b-1", "c-0", "c-1"]
    held = np.concatenate([share.indices[0] for share in shares])
    assert sorted(held) == list(range(len(silo)))
    for share in shares:
        assert {silo.domains[code] for code in silo.domain[share.indices[0]]} == {share.domain}
    sizes = [len(share.indices[0]) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_iid_deals_every_split_and_label_alike(make_silo, make_settings):
    silo = make_silo()
    shares = partition([silo], make_settings("iid"), 4, seed=3)
    assert {share.domain for share in shares} == {MIXED_DOMAIN}
    for split in (0, 1, 2):
        for label in (0, 1):
            inside = (silo.split == split) & (silo.label == label)
            counts = [int(inside[share.indices[0]].sum()) for share in shares]
            # Two domains are dealt one after the other, each to within one.
            assert max(counts) - min(counts) <= 2


def test_domain_and_iid_deal_as_in_the_first_release(make_silo, make_settings):
    """Runs of 0.1.0 can be repeated: client 1 of 4, seed 3, as that release dealt it."""
    silo = make_silo()
    by_domain = partition([silo], make_settings("domain"), 4, seed=3)[1].indices[0]
    assert by_domain.tolist() == [
        *(1, 3, 4, 5, 7, 8, 10, 17, 18, 19, 23, 25, 28, 31, 32, 33, 35, 37, 38, 39)
    ]
    alike = partition([silo], make_settings("iid"), 4, seed=3)[1].indices[0]
    assert alike.tolist() == [
        *(3, 4, 5, 8, 18, 19, 25, 28, 35, 39, 40, 46, 48, 50, 52, 56, 60, 63, 66, 78)
    ]


@pytest.mark.parametrize("kind", [kind for kind in DRAWN if kind != "iid"])
def test_several_silos_are_one_corpus(make_silo, make_settings, kind):
    silos = [make_silo(("a",), name="one"), make_silo(("b",), name="two")]
    shares = partition(silos, make_settings(kind, within_domains=True), 2, seed=0)
    assert [share.domain for share in shares] == ["a", "b"]
    assert [len(share.indices[1 - own]) for own, share in enumerate(shares)] == [0, 0]
    assert all(len(share.indices[own]) for own, share in enumerate(shares))


@pytest.mark.parametrize("kind", DRAWN)
def test_the_seed_decides(make_silo, make_settings, kind):
    silo = make_silo()

    def deal(seed):
        shares = partition([silo], make_settings(kind, concentration=2.0), 4, seed)
        return [share.indices[0].tolist() for share in shares]

    assert deal(0) == deal(0)
    assert deal(0) != deal(1)


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(DRAWN),
    counts=st.lists(
        # Safe, unsafe and unknown episodes in train, val, test and in no split.
        st.lists(st.tuples(*[st.integers(0, 25)] * 3), min_size=4, max_size=4),
        min_size=1,
        max_size=3,
    ),
    clients=st.integers(1, 9),
    within=st.booleans(),
    purity=st.floats(0.5, 1),
    concentration=st.floats(0.05, 20),
    exponent=st.floats(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_the_kind(
    make_corpus, make_settings, kind, counts, clients, within, purity, concentration, exponent, seed
):
    """What `partition` promises, on corpora of any make-up.

    `owners` names one client an episode at most, so no episode is held twice; kinds deal split by
    split, so each split is dealt whole.
    """
    corpus = make_corpus(counts)
    settings = make_settings(
        kind,
        within_domains=within,
        purity=purity,
        concentration=concentration,
        exponent=exponent,
    )

    def deal():
        return KINDS[kind](corpus, settings, clients, np.random.default_rng(seed))

    try:
        ownership = deal()
    except SettingsError as error:
        event("refused")
        assert "federation.clients" in str(error) or "partition.purity" in str(error)
        return
    owners = ownership.owners
    assert np.array_equal(owners, deal().owners)
    assert len(set(ownership.sites)) == len(ownership.domains) == clients
    assert owners.min(initial=0) >= -1 and owners.max(initial=-1) < clients
    assert (owners[corpus.split == 255] == -1).all()
    left_out = (owners == -1) & (corpus.split != 255)
    if kind == "label_skew":
        assert corpus.trains[left_out].all()
    else:
        assert not left_out.any()
    for client, domain in enumerate(ownership.domains):
        if domain != MIXED_DOMAIN:
            held = corpus.domain[owners == client]
            assert {corpus.domains[code] for code in held} <= {domain}
    if kind in ("label_skew", "dirichlet"):
        assert all((owners[corpus.trains] == client).any() for client in range(clients))


def test_clients_that_do_not_fit_the_domains_are_refused(make_silo, make_settings):
    silo = make_silo()
    with pytest.raises(SettingsError, match=r"multiple of the corpus' 2 domains \(a, b\).*got 5"):
        partition([silo], make_settings("domain"), 5, seed=0)
    with pytest.raises(SettingsError, match=r"domains \(a, b\) for partition.within_domains.*5"):
        partition([silo], make_settings("dirichlet", within_domains=True), 5, seed=0)


@pytest.mark.parametrize("kind", ["iid", "domain"])
def test_as_many_clients_as_training_episodes_get_one_each(make_corpus, make_settings, kind):
    """Dealing in turn through all splits alone would pass some of the 14 clients by."""
    corpus = make_corpus([[[3, 4, 0], [2, 1, 0], [1, 1, 0]], [[5, 2, 0], [1, 2, 0], [0, 3, 0]]])
    owners = KINDS[kind](corpus, make_settings(kind), 14, np.random.default_rng(0)).owners
    assert np.bincount(owners[corpus.trains], minlength=14).tolist() == [1] * 14
    assert (owners >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_more_clients_than_episodes_are_refused(make_silo, make_settings, kind):
    silo = make_silo()
    trains = int(((silo.split == 0) & (silo.label >= 0)).sum())
    with pytest.raises(
        SettingsError, match=rf"federation\.clients: 100 clients .* of its {trains} labelled"
    ):
        partition([silo], make_settings(kind), 100, seed=0)


def test_an_unknown_kind_is_refused_with_the_choices(make_silo, make_settings):
    with pytest.raises(SettingsError, match=r"domain, iid, label_skew.*natural, got 'shards'"):
        partition([make_silo()], make_settings("shards"), 2, seed=0)
