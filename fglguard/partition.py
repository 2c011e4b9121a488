"""Who holds what in a simulation: one corpus dealt to many clients."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.errors import SettingsError
from fglguard.settings import PartitionSettings
from fglguard.silo import Silo

MIXED_DOMAIN = "mixed"
"""The one domain of clients that hold a bit of everything."""


@dataclass(frozen=True)
class Share:
    """One client's part of the corpus.

    Attributes:
        site: The client's name.
        domain: Its domain.
        indices: For each silo, which of its episodes the client holds, ascending.
    """

    site: str
    domain: str
    indices: tuple[NDArray[np.int64], ...]


def partition(
    silos: Sequence[Silo], settings: PartitionSettings, clients: int, seed: int
) -> list[Share]:
    """Deal the silos' episodes to `clients` clients.

    Episodes are shuffled within each (domain, split, label) and dealt in turn, so that clients of
    one domain hold equally many of each to within one. Episodes that no split holds are left out.

    Raises:
        SettingsError: The number of clients does not fit the domains, or some client would have
            nothing to train on.
    """
    corpus = _Corpus.of(silos)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x9A27]))
    if settings.kind == "domain":
        owners, sites, domains = _deal_by_domain(corpus, clients, rng)
    elif settings.kind == "iid":
        owners = _deal(corpus, np.ones(len(corpus.label), dtype=bool), clients, rng)
        sites = [f"client-{index}" for index in range(clients)]
        domains = [MIXED_DOMAIN] * clients
    else:
        raise SettingsError(f"partition.kind: {settings.kind} is not there yet")
    shares = []
    for client, (site, domain) in enumerate(zip(sites, domains, strict=True)):
        held = owners == client
        if not np.any(held & (corpus.split == SPLITS.index("train"))):
            raise SettingsError(
                f"federation.clients: {clients} clients are more than the corpus can feed; "
                f"{site} would have no episode to train on"
            )
        indices = tuple(np.flatnonzero(held[part]).astype(np.int64) for part in corpus.parts)
        shares.append(Share(site, domain, indices))
    return shares


@dataclass(frozen=True)
class _Corpus:
    domains: list[str]
    domain: NDArray[np.int64]
    split: NDArray[np.uint8]
    label: NDArray[np.int8]
    parts: list[slice]

    @classmethod
    def of(cls, silos: Sequence[Silo]) -> "_Corpus":
        domains = sorted({name for silo in silos for name in silo.domains})
        codes = [
            np.array([domains.index(name) for name in silo.domains], dtype=np.int64)[
                np.asarray(silo.domain, dtype=np.int64)
            ]
            for silo in silos
        ]
        ends = np.cumsum([0, *(len(silo) for silo in silos)])
        return cls(
            domains,
            np.concatenate(codes),
            np.concatenate([silo.split for silo in silos]),
            np.concatenate([silo.label for silo in silos]),
            [slice(int(a), int(b)) for a, b in pairwise(ends)],
        )


def _deal_by_domain(
    corpus: _Corpus, clients: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    each, rest = divmod(clients, len(corpus.domains))
    if rest or not each:
        raise SettingsError(
            f"federation.clients: expected a multiple of the corpus' {len(corpus.domains)} domains "
            f"({', '.join(corpus.domains)}) for partition.kind=domain, got {clients}"
        )
    owners = np.full(len(corpus.label), -1, dtype=np.int64)
    sites, domains = [], []
    for code, name in enumerate(corpus.domains):
        dealt = _deal(corpus, corpus.domain == code, each, rng)
        owners = np.where(dealt >= 0, dealt + code * each, owners)
        sites += [f"{name}-{index}" for index in range(each)]
        domains += [name] * each
    return owners, sites, domains


def _deal(
    corpus: _Corpus, eligible: NDArray[np.bool_], clients: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    owners = np.full(len(corpus.label), -1, dtype=np.int64)
    turn = 0
    for domain in range(len(corpus.domains)):
        for split in range(len(SPLITS)):
            for label in (0, 1, -1):
                stratum = np.flatnonzero(
                    eligible
                    & (corpus.domain == domain)
                    & (corpus.split == split)
                    & (corpus.label == label)
                )
                rng.shuffle(stratum)
                owners[stratum] = (turn + np.arange(len(stratum))) % clients
                turn += len(stratum)
    return owners
