"""Files that appear whole or not at all, and hashes of them."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fglguard.errors import OutputError


def require_folder_of(path: Path) -> None:
    """Refuse a file that a person named where there is no such folder: a slip, most likely.

    Raises:
        OutputError: The folder that `path` would stand in is not there.
    """
    if not path.parent.is_dir():
        raise OutputError(
            f"{path}: can't be written: expected the folder {path.parent} to be there; make it, or "
            f"name another file"
        )


@contextmanager
def write_atomically(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Write beside `path`, then rename onto it; on an error the old file stays as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_folder(path: Path, files: Mapping[str, bytes], mode: int = 0o644) -> None:
    """Write a folder of files beside `path`, then put it in its place; on an error the old stays.

    Args:
        path: The folder; replaced if it is there.
        files: Contents by name.
        mode: Of each file. Where nobody else may read them, nobody else may enter the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    fresh, old = beside / "new", beside / "old"
    try:
        fresh.mkdir(mode=0o777 if mode & 0o077 else 0o700)
        for name, data in files.items():
            with (fresh / name).open("xb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        if path.exists():
            path.rename(old)
        try:
            fresh.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
    finally:
        shutil.rmtree(beside)


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
