"""The kinds of partition, and the deal itself."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SettingsError
from fglguard.partitions.corpus import Corpus
from fglguard.partitions.dirichlet import deal_by_dirichlet
from fglguard.partitions.domain import deal_by_domain
from fglguard.partitions.iid import deal_alike
from fglguard.partitions.label_skew import deal_by_purity
from fglguard.partitions.natural import deal_by_attribute
from fglguard.partitions.quantity import deal_by_size
from fglguard.partitions.share import Ownership, Share
from fglguard.settings import PartitionSettings
from fglguard.silo import Silo

Kind = Callable[[Corpus, PartitionSettings, int, np.random.Generator], Ownership]

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "domain": deal_by_domain,
        "iid": deal_alike,
        "label_skew": deal_by_purity,
        "dirichlet": deal_by_dirichlet,
        "quantity": deal_by_size,
        "natural": deal_by_attribute,
    }
)
"""By the value of `partition.kind`."""


def partition(
    silos: Sequence[Silo], settings: PartitionSettings, clients: int, seed: int
) -> list[Share]:
    """Deal the silos' episodes to `clients` clients.

    Whatever the kind: each split (train, val, test) is dealt by itself, so that no episode changes
    side; no episode is held twice; episodes that no split holds are left out; every client has at
    least one labelled training episode; the same arguments give the same shares. Every other
    episode is held by one client, except that `label_skew` leaves out training episodes.

    Raises:
        SettingsError: The kind is unknown, the number of clients does not fit the corpus, or some
            client would have nothing to train on.
    """
    deal = KINDS.get(settings.kind)
    if deal is None:
        raise SettingsError(
            f"partition.kind: expected one of {', '.join(KINDS)}, got {settings.kind!r}"
        )
    corpus = Corpus.of(silos)
    episodes = int(corpus.trains.sum())
    if clients > episodes:
        raise SettingsError(
            f"federation.clients: {clients} clients are more than the corpus can feed: expected at "
            f"most one for each of its {episodes} labelled training episodes"
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x9A27]))
    ownership = deal(corpus, settings, clients, rng)
    _check_all_train(corpus, ownership)
    return _shares(corpus, ownership)


def _check_all_train(corpus: Corpus, ownership: Ownership) -> None:
    owners = ownership.owners[corpus.trains]
    clients = len(ownership.sites)
    held = np.bincount(owners[owners >= 0], minlength=clients)
    if held.min() == 0:
        raise SettingsError(
            f"federation.clients: {clients} clients are more than the corpus can feed; "
            f"{ownership.sites[int(np.argmin(held))]} would have no episode to train on"
        )


def _shares(corpus: Corpus, ownership: Ownership) -> list[Share]:
    clients = len(ownership.sites)
    by_silo = [_indices(ownership.owners[part], clients) for part in corpus.parts]
    return [
        Share(site, domain, tuple(indices[client] for indices in by_silo))
        for client, (site, domain) in enumerate(
            zip(ownership.sites, ownership.domains, strict=True)
        )
    ]


def _indices(owners: NDArray[np.int64], clients: int) -> list[NDArray[np.int64]]:
    """Where each client's number stands, ascending."""
    order = np.argsort(owners, kind="stable").astype(np.int64)
    ends = np.searchsorted(owners[order], np.arange(clients + 1))
    return [order[ends[client] : ends[client + 1]] for client in range(clients)]
