"""What a client holds: its packed graphs and which of them train, calibrate and test."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.corpora.splits_file import splits_content
from fglguard.encoder import load_encoder
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.packed_graphs import PackedGraphs, concatenate
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
        rows: Which graphs of `packed` are its own, ascending.
        packed: Its graphs, and where they are part of one silo the rest of it too: the silo's
            files are mapped, so a thousand clients share them. Copied if several silos hold them.
        split: Code of the split each graph is in.
        group: Task group, for resampling.
        clean: 1 where no attack is known to be present, 0 where one is, -1 unknown.
        domain_of: Domain of each graph, an index into `domains`.
        domains: Names of the episodes' own domains.
    """

    site: str
    domain: str
    encoder_fingerprint: str
    rows: NDArray[np.int64]
    packed: PackedGraphs
    split: NDArray[np.uint8]
    group: NDArray[np.int64]
    clean: NDArray[np.int8]
    domain_of: NDArray[np.int64]
    domains: tuple[str, ...]

    def indices(self, split: str) -> NDArray[np.int64]:
        """Which graphs of `packed` are the client's and stand in a split."""
        chosen: NDArray[np.int64] = self.rows[self.split[self.rows] == SPLITS.index(split)]
        return chosen


def simulated_holdings(settings: RunSettings, client: int, clients: int) -> Holdings:
    """Client number `client` of a simulation: its share of the corpus.

    Kept for the life of the process, so that a message costs no reload, unless the file
    `corpus.splits` has changed.

    Raises:
        SettingsError: The partition does not fit `clients` clients, or the file of sides can't be
            read.
        SiloError: The silo is missing, or was not prepared with the run's encoder.
    """
    return _simulated(settings, client, clients, splits_content(settings.corpus.splits))


@lru_cache(maxsize=64)
def _simulated(settings: RunSettings, client: int, clients: int, splits: str) -> Holdings:
    share = _shares(settings, clients, splits)[client]
    parts = list(zip(_corpus(settings.corpus, splits), share.indices, strict=True))
    return _open(parts, settings, share.site, share.domain)


def pooled_holdings(settings: RunSettings, clients: int) -> tuple[Holdings, list[int]]:
    """All clients of a simulation as one, and how many training graphs each of them has.

    Its graphs stand in the corpus' order, whoever holds them. Kept as those of a single client.

    Raises:
        SettingsError: The partition does not fit `clients` clients, or the file of sides can't be
            read.
        SiloError: The silo is missing, or was not prepared with the run's encoder.
    """
    return _pooled(settings, clients, splits_content(settings.corpus.splits))


@lru_cache(maxsize=1)
def _pooled(settings: RunSettings, clients: int, splits: str) -> tuple[Holdings, list[int]]:
    shares, silos = _shares(settings, clients, splits), _corpus(settings.corpus, splits)
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
def _corpus(settings: CorpusSettings, splits: str) -> tuple[Silo, ...]:
    """Kept apart by the content of the file of sides, `splits`; so is what follows from it."""
    return tuple(open_corpus(settings))


@lru_cache(maxsize=4)
def _silos_at(path: str) -> tuple[Silo, ...]:
    return tuple(open_silos(Path(path)))


@lru_cache(maxsize=4)
def _shares(settings: RunSettings, clients: int, splits: str) -> list[Share]:
    return partition(_corpus(settings.corpus, splits), settings.partition, clients, settings.seed)


def _open(
    parts: Sequence[tuple[Silo, NDArray[np.int64]]], settings: RunSettings, site: str, domain: str
) -> Holdings:
    held = [(silo, rows) for silo, rows in parts if len(rows)]
    fingerprint = _common_fingerprint([silo for silo, _ in held], settings.corpus.encoder, site)
    graph_settings = GraphSettings.of(settings.detector)
    graphs = [_graphs(silo, fingerprint, graph_settings) for silo, _ in held]
    if len(held) == 1:
        rows, packed = held[0][1], graphs[0]
    else:
        packed = concatenate(
            [one.select(some) for one, (_, some) in zip(graphs, held, strict=True)]
        )
        rows = np.arange(len(packed), dtype=np.int64)
    domains = tuple(sorted({name for silo, _ in held for name in silo.domains}))
    return Holdings(
        site=site,
        domain=domain,
        encoder_fingerprint=fingerprint,
        rows=rows,
        packed=packed,
        split=_joined([silo.split for silo, _ in held], held),
        group=_joined(_distinct_groups([silo for silo, _ in held]), held),
        clean=_joined([silo.clean for silo, _ in held], held),
        domain_of=_joined([_domain_codes(silo, domains) for silo, _ in held], held),
        domains=domains,
    )


def _joined(
    columns: Sequence[NDArray[Any]], held: Sequence[tuple[Silo, NDArray[np.int64]]]
) -> NDArray[Any]:
    """One entry a graph of `packed`: a single silo's column whole, else what is held of each."""
    if len(columns) == 1:
        return columns[0]
    return np.concatenate([column[rows] for column, (_, rows) in zip(columns, held, strict=True)])


@lru_cache(maxsize=16)
def _graphs(silo: Silo, fingerprint: str, settings: GraphSettings) -> PackedGraphs:
    """Mapped once a process, not once a client."""
    return silo.graphs(fingerprint, settings)


@lru_cache(maxsize=16)
def _domain_codes(silo: Silo, domains: tuple[str, ...]) -> NDArray[np.int64]:
    codes = np.array([domains.index(name) for name in silo.domains], dtype=np.int64)
    return codes[np.asarray(silo.domain, dtype=np.int64)]


def _distinct_groups(silos: Sequence[Silo]) -> list[NDArray[np.int64]]:
    groups, offset = [], 0
    for silo in silos:
        groups.append(silo.group if not offset else np.asarray(silo.group) + offset)
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
    # Several versions of one encoder: the one that is installed here, where it is among them.
    if len(prepared) > 1 and (installed := load_encoder(encoder).fingerprint) in prepared:
        return installed
    return prepared[-1]
