"""Writing what follows from a silo's episodes: vectors of their texts, and packed graphs."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.encoder import Encoder, tokenizer_of
from fglguard.episode import Episode
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.progress import progress_bar
from fglguard.silo.arrays import map_array
from fglguard.silo.embeddings import encode_missing, gather, known_rows
from fglguard.silo.index import TEXT_ID_BYTES
from fglguard.silo.lock import writing
from fglguard.silo.lookup import TextLookup
from fglguard.silo.manifest import (
    Manifest,
    StoredGraphs,
    describe,
    read_manifest,
    write_manifest,
)
from fglguard.silo.missing import missing_beside, missing_rows, missing_texts
from fglguard.silo.packing import GRAPHS, pack_episodes, save_graphs
from fglguard.silo.records import Records


@dataclass
class Preparation:
    """One writer's work on a silo.

    Attributes:
        path: The silo.
        manifest: Its state, as it was opened and then as this writer leaves it.
        progress: Whether to show how far it is.
        lock_seconds: How long to wait for another writer.
    """

    path: Path
    manifest: Manifest
    progress: bool
    lock_seconds: float

    def embed(self, encoder: Encoder) -> None:
        """Encode each distinct text of a message that the encoder has not encoded yet.

        Raises:
            SiloError: Another process is writing to the silo, or it was imported anew.
            EncoderError: The encoder gives vectors of a wrong shape, or not finite ones.
        """
        if not missing_rows(self._text_ids, self._known(encoder)):
            return
        with self._writing():
            known = self._known(encoder)
            self._encode(
                encoder,
                missing_texts(self._episodes(), self._message_text, self._text_ids, known),
            )

    def prepare(self, encoder: Encoder, settings: GraphSettings, again: bool = False) -> None:
        """Embed, and pack the graphs unless they are there, or anew.

        Raises:
            SiloError: Another process is writing to the silo, or it was imported anew.
            EncoderError: The encoder gives vectors of a wrong shape, or not finite ones.
        """
        self.embed(encoder)
        fingerprint = settings.fingerprint(encoder.fingerprint)
        if fingerprint in self.manifest.graphs and not again:
            return
        with self._writing():
            if fingerprint not in self.manifest.graphs or again:
                # Messages stand encoded by now, so that their number alone tells.
                known = self._known(encoder)
                self._encode(encoder, missing_beside(self._episodes(), settings, known))
                self._pack(fingerprint, encoder, settings)

    def _encode(self, encoder: Encoder, missing: dict[bytes, str]) -> None:
        if not missing:
            return
        title = f"{self.manifest.name}: {encoder.name}"
        with progress_bar(title, len(missing), self.progress) as advance:
            for manifest in encode_missing(self.path, self.manifest, encoder, missing, advance):
                self._commit(manifest)

    def _pack(self, fingerprint: str, encoder: Encoder, settings: GraphSettings) -> None:
        embedding = self.manifest.embeddings[encoder.fingerprint]
        tokenize = tokenizer_of(encoder, settings.tokens) if settings.tokens else None
        vectors = gather(self.path, embedding, self._text_ids)
        lookup = TextLookup(self.path, embedding)
        title = f"{self.manifest.name}: graphs"
        with progress_bar(title, self._count, self.progress) as advance:
            packed = pack_episodes(
                self._episodes(), vectors, self._message_text, settings, lookup, advance, tokenize
            )
        old = self.manifest.graphs.get(fingerprint)
        folder = self._data / GRAPHS / fingerprint
        if old is not None:
            # Beside the old ones, which stay whole until the manifest names the new.
            folder = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{fingerprint}-"))
        files = describe(self.path, save_graphs(folder, packed, settings))
        stored = StoredGraphs(
            encoder.fingerprint, settings.rounds, folder.relative_to(self.path).as_posix()
        )
        kept = self.manifest.files
        if old is not None:
            kept = {k: v for k, v in kept.items() if not k.startswith(f"{old.folder}/")}
        graphs = {**self.manifest.graphs, fingerprint: stored}
        self._commit(replace(self.manifest, files={**kept, **files}, graphs=graphs))
        if old is not None:
            # Whoever has mapped them keeps what is mapped.
            shutil.rmtree(self.path / old.folder)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the write lock, with what other writers have added since."""
        with writing(self.path, self.lock_seconds):
            self.manifest = refreshed(self.path, self.manifest)
            yield

    def _commit(self, manifest: Manifest) -> None:
        write_manifest(self.path, manifest)
        self.manifest = manifest

    def _known(self, encoder: Encoder) -> dict[bytes, int]:
        return known_rows(self.path, self.manifest.embeddings.get(encoder.fingerprint))

    def _episodes(self) -> Iterator[Episode]:
        return self._records.episodes(np.arange(self._count))

    @property
    def _count(self) -> int:
        return self.manifest.counts["episodes"]

    @property
    def _data(self) -> Path:
        return self.path / self.manifest.data

    @cached_property
    def _records(self) -> Records:
        return Records(self._data, self._count)

    @cached_property
    def _message_text(self) -> NDArray[np.int64]:
        count = self.manifest.counts["messages"]
        return map_array(self._data / "message_text.npy", np.int64, (count,))

    @cached_property
    def _text_ids(self) -> NDArray[np.uint8]:
        count = self.manifest.counts["texts"]
        return map_array(self._data / "text_ids.npy", np.uint8, (count, TEXT_ID_BYTES))


def refreshed(path: Path, manifest: Manifest) -> Manifest:
    """The silo's present state, which may have more vectors and graphs than when it was opened.

    Raises:
        SiloError: Its episodes are others.
    """
    found = read_manifest(path)
    if found.data != manifest.data:
        raise SiloError(f"{path}: was imported anew since it was opened; open it again")
    return found
