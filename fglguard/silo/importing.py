"""Episodes into a new state of a silo, which replaces the old one in a single rename."""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode
from fglguard.errors import SiloError
from fglguard.silo.arrays import make_private_folder
from fglguard.silo.embeddings import carry_over
from fglguard.silo.index import choose_splits, write_episodes_indexed, write_index
from fglguard.silo.lock import LOCK_FILE, writing
from fglguard.silo.manifest import MANIFEST, Manifest, describe, read_manifest, write_manifest

_DATA = "data-"


def import_episodes(
    path: Path,
    episodes: Iterable[Episode],
    *,
    name: str,
    seed: int,
    fractions: tuple[float, float, float],
    splits: Sequence[int] | NDArray[np.integer[Any]] | None,
    overwrite: bool,
    lock_seconds: float,
) -> None:
    """Write a whole new data folder, then commit it; see `Silo.create`.

    Raises:
        SiloError: Something is at `path` already, another process is writing there, or the
            episodes do not make a silo.
    """
    _refuse_if_taken(path, overwrite)
    made = not path.exists()
    above = [parent for parent in path.absolute().parents if not parent.exists()]
    make_private_folder(path)
    with writing(path, lock_seconds):
        # Again: another process may have finished its import while this one waited.
        _refuse_if_taken(path, overwrite)
        old = _old_manifest(path)
        folder = path / _next_data(path)
        make_private_folder(folder)
        try:
            builder = write_episodes_indexed(folder, episodes)
            split = choose_splits(builder, splits, fractions, seed)
            paths, domains = write_index(folder, builder, split)
            manifest = Manifest(
                name=name,
                seed=seed,
                data=folder.name,
                counts={
                    "episodes": len(builder.label),
                    "messages": len(builder.message_text),
                    "texts": len(builder.texts),
                },
                domains=domains,
                files=describe(path, paths),
            )
            if old:
                manifest = carry_over(path, old, manifest, list(builder.texts))
            write_manifest(path, manifest)
        except BaseException:
            # An interrupt may strike just after the commit: what was committed stays.
            committed = _old_manifest(path)
            if committed is None or committed.data != folder.name:
                shutil.rmtree(path if made else folder)
                _remove_empty(above)
            raise
        _sweep(path, keep=folder.name)


def _refuse_if_taken(path: Path, overwrite: bool) -> None:
    """Raise unless a silo may be made at `path`."""
    if not path.exists():
        return
    if not path.is_dir():
        raise SiloError(f"{path}: expected a folder or nothing, found a file")
    if (path / MANIFEST).exists():
        if not overwrite:
            raise SiloError(f"{path}: there is a silo already; overwrite=True replaces it")
        return
    strange = sorted(child.name for child in path.iterdir() if not _ours(child))
    if strange:
        raise SiloError(
            f"{path}: expected an empty folder, a silo or nothing, found {len(strange)} other "
            f"files, the first {strange[0]!r}"
        )


def _ours(child: Path) -> bool:
    """Whether an interrupted import may have left this."""
    return child.name.startswith((_DATA, f".{MANIFEST}.")) or child.name == LOCK_FILE


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, up to one that holds something by now."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _old_manifest(path: Path) -> Manifest | None:
    """The state that is replaced, None where there is none that can be read."""
    try:
        return read_manifest(path)
    except SiloError:
        return None


def _next_data(path: Path) -> str:
    """A name no state has had: even remains that no manifest points to stay until the commit."""
    numbers = [child.name.removeprefix(_DATA) for child in path.glob(f"{_DATA}*")]
    number = max((int(digits) for digits in numbers if digits.isdecimal()), default=0) + 1
    return f"{_DATA}{number:06d}"


def _sweep(path: Path, keep: str) -> None:
    """Remove what no manifest points to: replaced states, remains of interrupted writes."""
    for child in path.iterdir():
        if child.name.startswith(_DATA) and child.name != keep:
            shutil.rmtree(child)
        elif child.name.startswith(f".{MANIFEST}."):
            child.unlink()
