"""The manifest: what a silo holds. Renaming a new one into place is the only commit there is."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fglguard.errors import SiloError
from fglguard.files import sha256_of, write_atomically

SCHEMA = 1
MANIFEST = "manifest.json"
T = TypeVar("T")
_REMEDY = "import the corpus again with --overwrite"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file's size in bytes and the SHA-256 of its content."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class EmbeddingPart:
    """Vectors of some distinct texts: two files, ids and vectors, row by row."""

    texts: int
    ids: str
    vectors: str


@dataclass(frozen=True, slots=True)
class Embedding:
    """What one encoder has encoded, in parts as they were added."""

    encoder: str
    dimension: int
    parts: tuple[EmbeddingPart, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredGraphs:
    """Where the graphs of one encoder and one window lie."""

    encoder_fingerprint: str
    rounds: int
    folder: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a silo says about itself.

    Attributes:
        name: The silo's name.
        seed: Seed of its splits.
        data: Folder of the episodes and their index arrays; a new one for each import.
        counts: episodes, messages, texts (distinct).
        domains: Their names; the `domain` array holds indices into them.
        files: Every file by its path relative to the silo.
        embeddings: By encoder fingerprint.
        graphs: By the graph settings' fingerprint.
    """

    name: str
    seed: int
    data: str
    counts: Mapping[str, int]
    domains: tuple[str, ...]
    files: Mapping[str, StoredFile] = field(default_factory=dict)
    embeddings: Mapping[str, Embedding] = field(default_factory=dict)
    graphs: Mapping[str, StoredGraphs] = field(default_factory=dict)


def describe(root: Path, paths: list[Path]) -> dict[str, StoredFile]:
    """Size and hash of each file, by its path relative to `root`."""
    return {
        path.relative_to(root).as_posix(): StoredFile(path.stat().st_size, sha256_of(path))
        for path in paths
    }


def check_sizes(root: Path, manifest: Manifest) -> None:
    """Compare every file's size with the manifest, which costs one stat a file.

    Raises:
        SiloError: A file is missing or has another size.
    """
    for path, stored in manifest.files.items():
        try:
            size = (root / path).stat().st_size
        except FileNotFoundError:
            raise SiloError(f"{root / path}: the file is missing; {_REMEDY}") from None
        if size != stored.size:
            raise SiloError(f"{root / path}: expected {stored.size} bytes, got {size}; {_REMEDY}")


def check_hashes(root: Path, manifest: Manifest) -> None:
    """Compare every file's content with the manifest.

    Raises:
        SiloError: Files are missing or were changed; the text names the first ones.
    """
    check_sizes(root, manifest)
    changed = [
        path for path, stored in manifest.files.items() if sha256_of(root / path) != stored.sha256
    ]
    if changed:
        raise SiloError(
            f"{root}: {len(changed)} of {len(manifest.files)} files were changed "
            f"({', '.join(changed[:3])}); {_REMEDY}"
        )


def write_manifest(root: Path, manifest: Manifest) -> None:
    """Commit: put the manifest in place of the old one."""
    record = {"schema": SCHEMA, **asdict(manifest)}
    with write_atomically(root / MANIFEST, mode=0o600) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode())


def read_manifest(root: Path) -> Manifest:
    """Read a silo's manifest.

    Raises:
        SiloError: There is no silo, or its manifest is damaged or of another schema.
    """
    path = root / MANIFEST
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SiloError(
            f"{root}: expected a silo, found no {MANIFEST}; "
            f"`fglguard corpus import FORMAT PATH -o {root}` makes one"
        ) from None
    except OSError as error:
        raise SiloError(f"{path}: can't be read: {error.strerror}") from error
    except ValueError:
        raise SiloError(f"{path}: damaged, expected JSON; {_REMEDY}") from None
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise SiloError(f"{path}: schema: expected {SCHEMA}, got {schema!r}; {_REMEDY}")
    try:
        return _parse(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SiloError(f"{path}: damaged ({type(error).__name__}: {error}); {_REMEDY}") from None


def _parse(record: dict[str, Any]) -> Manifest:
    return Manifest(
        name=_typed(record, "name", str),
        seed=_typed(record, "seed", int),
        data=_folder(record),
        counts={key: int(record["counts"][key]) for key in ("episodes", "messages", "texts")},
        domains=tuple(_typed(record, "domains", list)),
        files={
            path: StoredFile(_typed(file, "size", int), _typed(file, "sha256", str))
            for path, file in record["files"].items()
        },
        embeddings={
            fingerprint: Embedding(
                stored["encoder"],
                int(stored["dimension"]),
                tuple(EmbeddingPart(**part) for part in stored["parts"]),
            )
            for fingerprint, stored in record["embeddings"].items()
        },
        graphs={
            fingerprint: StoredGraphs(**stored) for fingerprint, stored in record["graphs"].items()
        },
    )


def _folder(record: Mapping[str, Any]) -> str:
    name = _typed(record, "data", str)
    if not re.fullmatch(r"data-\d+", name):
        raise ValueError(f"data: expected data- and digits, got {name!r}")
    return name


def _typed(record: Mapping[str, Any], key: str, kind: type[T]) -> T:
    value = record[key]
    if not isinstance(value, kind):
        raise TypeError(f"{key}: expected {kind.__name__}, got {type(value).__name__}")
    return value
