"""The silo itself: create, open, read, embed, prepare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.encoder import Encoder
from fglguard.episode import Episode
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.packed_graphs import PackedGraphs
from fglguard.sealing import digest
from fglguard.silo.arrays import map_array
from fglguard.silo.attributes import ATTRIBUTES, Attribute, collect, read_attributes
from fglguard.silo.embeddings import every_vector, gather_by_episode
from fglguard.silo.importing import import_episodes
from fglguard.silo.lookup import TextLookup
from fglguard.silo.manifest import (
    Embedding,
    Manifest,
    StoredGraphs,
    check_hashes,
    check_sizes,
    read_manifest,
)
from fglguard.silo.missing import unprepared
from fglguard.silo.packing import map_graphs
from fglguard.silo.preparation import Preparation, refreshed
from fglguard.silo.records import Records

LOCK_SECONDS = 30.0
"""How long a writer waits for another one to finish."""
_OPEN_ATTEMPTS = 3


class Silo:
    """A site's private store of episodes in a folder that only its owner can read.

    Opening reads the manifest and maps arrays; text is read when asked for. Any number of
    processes may read while one writes: a new state appears by renaming its manifest into place,
    and until then the old one stands, whatever happens to the writer.

    Attributes:
        path: The folder.
        name: The silo's name, by default the folder's.
        domains: Names that `domain` indexes.
        label: [episodes] int8; 1 unsafe, 0 safe, -1 unknown.
        split: [episodes] uint8; index into `fglguard.corpora.splits.SPLITS`, 255 left out.
        domain: [episodes] int32, index into `domains`.
        group: [episodes] int64, code of the group of alike episodes, for a group bootstrap.
        clean: [episodes] int8; 1 no attack was present, 0 one was, -1 unknown.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Use `Silo.open` or `Silo.create`."""
        check_sizes(path, manifest)
        self.path = path
        self.name = manifest.name
        self.domains = manifest.domains
        self._manifest = manifest
        self._data = path / manifest.data
        self._records = Records(self._data, len(self))
        episodes = (manifest.counts["episodes"],)
        self.label: NDArray[np.int8] = self._map("label", np.int8, episodes)
        self.split: NDArray[np.uint8] = self._map("split", np.uint8, episodes)
        self.domain: NDArray[np.int32] = self._map("domain", np.int32, episodes)
        self.group: NDArray[np.int64] = self._map("group", np.int64, episodes)
        self.clean: NDArray[np.int8] = self._map("clean", np.int8, episodes)

    @classmethod
    def open(cls, path: Path | str) -> Silo:
        """Open a silo; the time does not grow with its text.

        Raises:
            SiloError: There is no silo at `path`, or it is damaged or of another schema.
        """
        path = Path(path)
        for attempt in range(_OPEN_ATTEMPTS):
            manifest = read_manifest(path)
            try:
                return cls(path, manifest)
            except SiloError:
                # A writer may have replaced the state between the two reads.
                if attempt == _OPEN_ATTEMPTS - 1 or read_manifest(path) == manifest:
                    raise
        raise AssertionError("unreachable")

    @classmethod
    def create(
        cls,
        path: Path | str,
        episodes: Iterable[Episode],
        *,
        name: str | None = None,
        seed: int = 0,
        fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
        splits: Sequence[int] | NDArray[np.integer[Any]] | None = None,
        overwrite: bool = False,
        lock_seconds: float = LOCK_SECONDS,
    ) -> Silo:
        """Make a silo of episodes, which may be a stream and may be unlabelled.

        Splits are those given; else, if every episode has `attributes["split"]`, those; else
        they are assigned so that no task stands on two sides (`assign_splits`).

        Args:
            path: The folder; what is above it is made as needed.
            episodes: At least one, with unique ids.
            name: The silo's name, by default the folder's.
            seed: Seed of the assigned splits.
            fractions: Wanted shares of train, val and test.
            splits: A code for each episode: 0, 1, 2, or 255 to leave it out.
            overwrite: Replace a silo that is there. Vectors of texts that stay are kept.
            lock_seconds: How long to wait for another writer.

        Raises:
            SiloError: Something is at `path` already, another process is writing there, or the
                episodes do not make a silo.
            SettingsError: The fractions are not three shares that sum to 1.
        """
        path = Path(path)
        import_episodes(
            path,
            episodes,
            name=name or path.resolve().name,
            seed=seed,
            fractions=fractions,
            splits=splits,
            overwrite=overwrite,
            lock_seconds=lock_seconds,
        )
        return cls.open(path)

    def __len__(self) -> int:
        return self._manifest.counts["episodes"]

    def __repr__(self) -> str:
        return f"Silo({str(self.path)!r}, {len(self)} episodes)"

    @property
    def seed(self) -> int:
        """Seed of the splits that were assigned."""
        return self._manifest.seed

    @property
    def messages(self) -> int:
        """Number of messages in all episodes."""
        return self._manifest.counts["messages"]

    @property
    def texts(self) -> int:
        """Number of distinct texts in all messages."""
        return self._manifest.counts["texts"]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The episodes' ids, in order; read when first asked for.

        Raises:
            SiloError: The file that holds them is damaged.
        """
        return tuple(self._records.ids())

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """What is known of the episodes besides, by key; read when first asked for.

        Raises:
            SiloError: The file that holds it is damaged.
        """
        path = self._data / ATTRIBUTES
        if path.relative_to(self.path).as_posix() in self._manifest.files:
            return read_attributes(path, len(self))
        # A silo imported before there was such a file: its episodes say it, in more time.
        return collect(episode.attributes for episode in self.episodes())

    def episodes(
        self, indices: Sequence[int] | NDArray[np.integer[Any]] | None = None
    ) -> Iterator[Episode]:
        """Read some episodes (all, if `indices` is None), in the order asked for.

        Raises:
            SiloError: An index is out of range, or the file is damaged.
        """
        chosen = np.arange(len(self)) if indices is None else np.asarray(indices, dtype=np.int64)
        outside = chosen[(chosen < 0) | (chosen >= len(self))]
        if len(outside):
            raise SiloError(
                f"{self.path}: expected episode indices from 0 to {len(self) - 1}, "
                f"got {int(outside[0])}"
            )
        return self._records.episodes(chosen)

    def embed(
        self, encoder: Encoder, progress: bool = False, *, lock_seconds: float = LOCK_SECONDS
    ) -> None:
        """Encode each distinct text that this encoder has not encoded yet.

        What is done is kept every few thousand texts, so an interrupted run goes on from there.

        Raises:
            SiloError: Another process is writing to the silo, or it was imported anew.
            EncoderError: The encoder gives vectors of a wrong shape, or not finite ones.
        """
        work = self._preparation(progress, lock_seconds)
        try:
            work.embed(encoder)
        finally:
            self._manifest = work.manifest

    def prepare(
        self,
        encoder: Encoder,
        settings: GraphSettings,
        progress: bool = False,
        *,
        again: bool = False,
        lock_seconds: float = LOCK_SECONDS,
    ) -> PackedGraphs:
        """Embed and pack what is not yet; returns the graphs of all episodes, memory-mapped.

        Args:
            encoder: Encodes the texts.
            settings: Of the graphs.
            progress: Whether to show how far it is.
            again: Pack the graphs anew where they are there, since other code may have packed them.
            lock_seconds: How long to wait for another writer.

        Raises:
            SiloError: Another process is writing to the silo, or it was imported anew.
            EncoderError: The encoder gives vectors of a wrong shape, or not finite ones.
        """
        work = self._preparation(progress, lock_seconds)
        try:
            work.prepare(encoder, settings, again)
        finally:
            self._manifest = work.manifest
        return self.graphs(encoder.fingerprint, settings)

    def graphs(self, encoder_fingerprint: str, settings: GraphSettings) -> PackedGraphs:
        """The graphs of all episodes, memory-mapped, in the episodes' order.

        Raises:
            SiloError: They were not prepared; the text names the command that does it.
        """
        stored = self._stored_graphs(encoder_fingerprint, settings)
        dimension = self._manifest.embeddings[encoder_fingerprint].dimension
        return map_graphs(
            self.path / stored.folder,
            len(self),
            settings,
            dimension,
        )

    def nodes(self, encoder_fingerprint: str, settings: GraphSettings) -> NDArray[np.int64]:
        """Number of nodes of each episode's graph, [episodes].

        Raises:
            SiloError: The graphs were not prepared; the text names the command that does it.
        """
        folder = self.path / self._stored_graphs(encoder_fingerprint, settings).folder
        return np.diff(map_array(folder / "node_offsets.npy", np.int64, (len(self) + 1,)))

    def message_vectors(
        self,
        encoder_fingerprint: str,
        indices: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> Iterator[NDArray[np.float32]]:
        """Vectors of every message of some episodes (all, if `indices` is None), as embedded.

        Returns:
            For each episode, in the order asked for, [messages, d] in the order they were said.

        Raises:
            SiloError: The encoder has not encoded these texts, or an index is out of range.
        """
        embedding = self._embedding(encoder_fingerprint)
        return gather_by_episode(self.path, embedding, self.episodes(indices))

    def lookup(self, encoder_fingerprint: str) -> TextLookup:
        """Vectors by the texts themselves: of messages, and of spans where graphs needed them.

        Raises:
            SiloError: The encoder has encoded nothing here.
        """
        return TextLookup(self.path, self._embedding(encoder_fingerprint))

    def encoded_texts(
        self, encoder_fingerprint: str
    ) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
        """Id (`fglguard.silo.index.text_id`) and vector [d] of each text that was encoded.

        Raises:
            SiloError: The encoder has not encoded anything here, or a file is damaged.
        """
        return every_vector(self.path, self._embedding(encoder_fingerprint))

    @property
    def episodes_digest(self) -> str:
        """Equal for the same episodes with the same splits, however embedded and packed."""
        data = f"{self._manifest.data}/"
        files = self._manifest.files.items()
        own = {path.removeprefix(data): f.sha256 for path, f in files if path.startswith(data)}
        # Graphs lie in folders of their own.
        return digest({name: sha256 for name, sha256 in own.items() if "/" not in name})

    def encoder_fingerprints(self) -> list[str]:
        """Fingerprints of the encoders that have encoded every text."""
        return [
            fingerprint
            for fingerprint, embedding in self._manifest.embeddings.items()
            if sum(part.texts for part in embedding.parts) >= self.texts
        ]

    def prepared(self) -> list[tuple[str, str, list[int]]]:
        """Encoder name, fingerprint and the windows packed, for each encoder that is complete."""
        return [
            (
                self._manifest.embeddings[fingerprint].encoder,
                fingerprint,
                sorted(
                    {
                        stored.rounds
                        for stored in self._manifest.graphs.values()
                        if stored.encoder_fingerprint == fingerprint
                    }
                ),
            )
            for fingerprint in self.encoder_fingerprints()
        ]

    def verify(self) -> None:
        """Hash every file and compare with the manifest.

        Raises:
            SiloError: A file is missing or was changed.
        """
        check_hashes(self.path, self._manifest)

    def _embedding(self, encoder_fingerprint: str) -> Embedding:
        if encoder_fingerprint not in self._manifest.embeddings:
            self._refresh()
        embedding = self._manifest.embeddings.get(encoder_fingerprint)
        if embedding is None:
            raise SiloError(
                f"{self.path}: no text was encoded with {encoder_fingerprint} (encoders prepared: "
                f"{', '.join(self.encoder_fingerprints()) or 'none'})"
            )
        return embedding

    def _stored_graphs(self, encoder_fingerprint: str, settings: GraphSettings) -> StoredGraphs:
        fingerprint = settings.fingerprint(encoder_fingerprint)
        if fingerprint not in self._manifest.graphs:
            self._refresh()
        stored = self._manifest.graphs.get(fingerprint)
        if stored is None:
            prepared = self.encoder_fingerprints()
            raise SiloError(unprepared(self.path, encoder_fingerprint, settings, prepared))
        return stored

    def _map(
        self, name: str, dtype: type[np.generic], shape: tuple[int | None, ...]
    ) -> NDArray[Any]:
        return map_array(self._data / f"{name}.npy", dtype, shape)

    def _preparation(self, progress: bool, lock_seconds: float) -> Preparation:
        return Preparation(self.path, self._manifest, progress, lock_seconds)

    def _refresh(self) -> None:
        self._manifest = refreshed(self.path, self._manifest)
