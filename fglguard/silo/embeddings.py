"""The embedding cache of a silo: each distinct text is encoded once for each encoder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.encoder import Encoder
from fglguard.episode import Episode
from fglguard.errors import EncoderError, SiloError
from fglguard.progress import Advance
from fglguard.silo.arrays import make_private_folder, map_array, save_array
from fglguard.silo.index import TEXT_ID_BYTES, text_id
from fglguard.silo.manifest import Embedding, EmbeddingPart, Manifest, describe

FOLDER = "embeddings"
COMMIT_TEXTS = 2048
"""Texts between two commits: what an interrupted run loses at most."""
_CALL_TEXTS = 256


def known_rows(root: Path, embedding: Embedding | None) -> dict[bytes, int]:
    """Row of each text already encoded, counted through the parts in order."""
    ids: list[bytes] = []
    for part in embedding.parts if embedding else ():
        raw = map_array(root / part.ids, np.uint8, (part.texts, TEXT_ID_BYTES)).tobytes()
        ids += [raw[i : i + TEXT_ID_BYTES] for i in range(0, len(raw), TEXT_ID_BYTES)]
    return {key: row for row, key in enumerate(ids)}


def gather(root: Path, embedding: Embedding, text_ids: NDArray[np.uint8]) -> NDArray[np.float32]:
    """[texts, d] vectors of the texts asked for, in order.

    Raises:
        SiloError: A text was not encoded yet, or a file is damaged.
    """
    known = known_rows(root, embedding)
    rows = np.array([known.get(key.tobytes(), -1) for key in text_ids], dtype=np.int64)
    if (rows < 0).any():
        raise SiloError(f"{root}: {int((rows < 0).sum())} texts are not encoded yet")
    vectors = np.empty((len(rows), embedding.dimension), dtype=np.float32)
    first = 0
    for part in embedding.parts:
        stored = map_array(root / part.vectors, np.float32, (part.texts, embedding.dimension))
        here = (rows >= first) & (rows < first + part.texts)
        vectors[here] = stored[rows[here] - first]
        first += part.texts
    return vectors


def every_vector(root: Path, embedding: Embedding) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    """Id and vector [d] of each text that is encoded.

    Raises:
        SiloError: A file is damaged.
    """
    for part in embedding.parts:
        ids = map_array(root / part.ids, np.uint8, (part.texts, TEXT_ID_BYTES))
        vectors = map_array(root / part.vectors, np.float32, (part.texts, embedding.dimension))
        for key, vector in zip(ids, vectors, strict=True):
            yield key.tobytes(), vector


def gather_by_episode(
    root: Path, embedding: Embedding, episodes: Iterable[Episode]
) -> Iterator[NDArray[np.float32]]:
    """[messages, d] vectors of each episode's messages, in order.

    Each distinct text's vector is held once, however often it was said.

    Raises:
        SiloError: A text was not encoded yet, or a file is damaged.
    """
    rows: dict[bytes, int] = {}
    spoken = [
        [rows.setdefault(text_id(text), len(rows)) for text in episode.texts]
        for episode in episodes
    ]
    keys = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, TEXT_ID_BYTES)
    vectors = gather(root, embedding, keys)
    return (vectors[said] for said in spoken)


def encode_missing(
    root: Path,
    manifest: Manifest,
    encoder: Encoder,
    missing: Mapping[bytes, str],
    advance: Advance,
) -> Iterator[Manifest]:
    """Encode texts; yields a manifest to commit after each part.

    Raises:
        EncoderError: The encoder gives vectors of a wrong shape or type, or not finite ones.
    """
    # Longest first: a batch holds texts of one length, and the time left is never understated.
    order = sorted(missing, key=lambda key: (-len(missing[key]), key))
    for start in range(0, len(order), COMMIT_TEXTS):
        keys = order[start : start + COMMIT_TEXTS]
        blocks = []
        for call in range(0, len(keys), _CALL_TEXTS):
            texts = [missing[key] for key in keys[call : call + _CALL_TEXTS]]
            blocks.append(_checked(encoder, texts))
            advance(len(texts))
        manifest = _with_part(
            root, manifest, encoder.fingerprint, encoder.name, keys, np.concatenate(blocks)
        )
        yield manifest


def carry_over(root: Path, old: Manifest, new: Manifest, texts: Sequence[bytes]) -> Manifest:
    """Take along the vectors of texts that are in the new state too, and of no others."""
    for fingerprint, embedding in old.embeddings.items():
        try:
            known = known_rows(root, embedding)
            keys = [key for key in texts if key in known]
            ids = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, TEXT_ID_BYTES)
            vectors = gather(root, embedding, ids)
        except SiloError:
            # A damaged cache must not stand in the way of a new import: it is encoded again.
            continue
        if keys:
            new = _with_part(root, new, fingerprint, embedding.encoder, keys, vectors)
    return new


def _checked(encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
    vectors = encoder.encode(texts)
    expected = (len(texts), encoder.dimension)
    if vectors.shape != expected or vectors.dtype != np.float32:
        raise EncoderError(
            f"encoder {encoder.name}: expected float32 of shape {expected}, "
            f"got {vectors.dtype} of shape {vectors.shape}"
        )
    if not np.isfinite(vectors).all():
        raise EncoderError(f"encoder {encoder.name}: gave values that are not finite")
    return vectors


def _with_part(
    root: Path,
    manifest: Manifest,
    fingerprint: str,
    encoder: str,
    keys: Sequence[bytes],
    vectors: NDArray[np.float32],
) -> Manifest:
    """Write one part; returns the manifest that knows of it."""
    embedding = manifest.embeddings.get(fingerprint, Embedding(encoder, vectors.shape[1]))
    folder = root / manifest.data / FOLDER / fingerprint
    make_private_folder(folder.parent)
    make_private_folder(folder)
    number = len(embedding.parts)
    ids = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, TEXT_ID_BYTES)
    paths = [
        save_array(folder / f"{number:05d}-ids.npy", ids),
        save_array(folder / f"{number:05d}-vectors.npy", vectors),
    ]
    files = describe(root, paths)
    part = EmbeddingPart(len(keys), *files)
    embedding = replace(embedding, parts=(*embedding.parts, part))
    return replace(
        manifest,
        files={**manifest.files, **files},
        embeddings={**manifest.embeddings, fingerprint: embedding},
    )
