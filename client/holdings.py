"""What a client holds: its packed graphs and which of them train, calibrate and test."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings, PackedGraphs, concatenate
from fglguard.partitions import MIXED_DOMAIN, Share, partition
from fglguard.settings import CorpusSettings, RunSettings
from fglguard.silo import Silo, open_silos


@dataclass(frozen=True)
class Holdings:
    """A client's data, opened. Every array has one entry a graph of `packed`.

    Attributes:
        site: The client's name.
        domain: The domain it believes it has.
        encoder_fingerprint: Of the encoder its texts were embedded with.
        packed: Its graphs; maps the silo's files where it holds a whole silo.
        split: Code of the split each graph is in.
        group: Task group, for resampling.
        clean: 1 where no attack is known to be present, 0 where one is, -1 unknown.
        domain_of: Domain of each graph, an index into `domains`.
        domains: Names of the episodes' own domains.
    """

    site: str
    domain: str
    encoder_fingerprint: str
    packed: PackedGraphs
    split: NDArray[np.uint8]
    group: NDArray[np.int64]
    clean: NDArray[np.int8]
    domain_of: NDArray[np.int64]
    domains: tuple[str, ...]

    def indices(self, split: str) -> NDArray[np.int64]:
        """Which graphs stand in a split."""
        return np.flatnonzero(self.split == SPLITS.index(split)).astype(np.int64)


@lru_cache(maxsize=64)
def simulated_holdings(settings: RunSettings, client: int, clients: int) -> Holdings:
    """Client number `client` of a simulation: its share of the corpus.

    Kept for the life of the process, so that a message costs no reload.

    Raises:
        SettingsError: The partition does not fit `clients` clients.
        SiloError: The silo is missing, or was not prepared with the run's encoder.
    """
    share = _shares(settings, clients)[client]
    parts = list(zip(_corpus(settings.corpus), share.indices, strict=True))
    return _open(parts, settings, share.site, share.domain)


@lru_cache(maxsize=1)
def pooled_holdings(settings: RunSettings, clients: int) -> tuple[Holdings, list[int]]:
    """All clients of a simulation as one, and how many training graphs each of them has.

    Its graphs stand in the corpus' order, whoever holds them.

    Raises:
        SettingsError: The partition does not fit `clients` clients.
        SiloError: The silo is missing, or was not prepared with the run's encoder.
    """
    shares, silos = _shares(settings, clients), _corpus(settings.corpus)
    by_silo = list(zip(*(share.indices for share in shares), strict=True))
    rows = [np.sort(np.concatenate(parts)) for parts in by_silo]
    train = SPLITS.index("train")
    counts = [
        sum(
            int(np.count_nonzero(silo.split[rows] == train))
            for silo, rows in zip(silos, share.indices, strict=True)
        )
        for share in shares
    ]
    together = _open(list(zip(silos, rows, strict=True)), settings, "pooled", MIXED_DOMAIN)
    return together, counts


@lru_cache(maxsize=4)
def site_holdings(settings: RunSettings, site: str, path: str) -> Holdings:
    """A real site: everything in its own silo.

    Raises:
        SiloError: The silo is missing, holds several domains, or was not prepared.
    """
    silos = _silos_at(path)
    domains = sorted({name for silo in silos for name in silo.domains})
    if len(domains) != 1:
        raise SiloError(
            f"site {site}: expected a silo of one domain at {path}, got {', '.join(domains)}"
        )
    parts = [(silo, np.arange(len(silo), dtype=np.int64)) for silo in silos]
    return _open(parts, settings, site, domains[0])


@lru_cache(maxsize=4)
def _corpus(settings: CorpusSettings) -> tuple[Silo, ...]:
    return tuple(open_corpus(settings))


@lru_cache(maxsize=4)
def _silos_at(path: str) -> tuple[Silo, ...]:
    return tuple(open_silos(Path(path)))


@lru_cache(maxsize=4)
def _shares(settings: RunSettings, clients: int) -> list[Share]:
    return partition(_corpus(settings.corpus), settings.partition, clients, settings.seed)


def _open(
    parts: Sequence[tuple[Silo, NDArray[np.int64]]], settings: RunSettings, site: str, domain: str
) -> Holdings:
    held = [(silo, rows) for silo, rows in parts if len(rows)]
    fingerprint = _common_fingerprint([silo for silo, _ in held], settings.corpus.encoder, site)
    graph_settings = GraphSettings(rounds=settings.detector.rounds)
    graphs = [silo.graphs(fingerprint, graph_settings) for silo, _ in held]
    if len(held) == 1 and len(held[0][1]) == len(held[0][0]):
        packed = graphs[0]
    else:
        packed = concatenate(
            [one.select(rows) for one, (_, rows) in zip(graphs, held, strict=True)]
        )
    domains = tuple(sorted({name for silo, _ in held for name in silo.domains}))
    return Holdings(
        site=site,
        domain=domain,
        encoder_fingerprint=fingerprint,
        packed=packed,
        split=np.concatenate([silo.split[rows] for silo, rows in held]),
        group=np.concatenate(_distinct_groups(held)),
        clean=np.concatenate([silo.clean[rows] for silo, rows in held]),
        domain_of=np.concatenate([_domain_codes(silo, domains)[rows] for silo, rows in held]),
        domains=domains,
    )


def _domain_codes(silo: Silo, domains: tuple[str, ...]) -> NDArray[np.int64]:
    codes = np.array([domains.index(name) for name in silo.domains], dtype=np.int64)
    return codes[np.asarray(silo.domain, dtype=np.int64)]


def _distinct_groups(held: Sequence[tuple[Silo, NDArray[np.int64]]]) -> list[NDArray[np.int64]]:
    groups, offset = [], 0
    for silo, rows in held:
        groups.append(np.asarray(silo.group[rows], dtype=np.int64) + offset)
        offset += int(np.max(silo.group, initial=-1)) + 1
    return groups


def _common_fingerprint(silos: Sequence[Silo], encoder: str, site: str) -> str:
    common = set.intersection(*(set(silo.encoder_fingerprints()) for silo in silos))
    prepared = sorted(name for name in common if name.startswith(f"{encoder}-"))
    if not prepared:
        raise SiloError(
            f"site {site}: its texts are not embedded with the encoder {encoder!r}; run "
            f"fglguard corpus embed {silos[0].path} --encoder {encoder}"
        )
    return prepared[-1]
