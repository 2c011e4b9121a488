"""Find run folders and read them; what can't be read is told by name."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import FglguardError

STATUS, CONFIG, RESULTS = "status.json", "config.json", "results.json"


class RunFolderError(FglguardError):
    """A run folder is damaged or not finished."""


@dataclass(frozen=True)
class Run:
    """A run that completed or failed.

    Attributes:
        folder: Where it stands.
        state: `completed` or `failed`.
        settings: Its resolved settings, flat.
        results: Its figures; None unless it completed.
        error: Why it failed.
    """

    folder: Path
    state: str
    settings: Mapping[str, Any]
    results: Mapping[str, Any] | None
    error: str | None


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """Every folder, these or below them, that holds a run's status or configuration, sorted.

    Raises:
        RunFolderError: One of `folders` does not exist.
    """
    found: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            raise RunFolderError(f"{folder}: expected a folder, found none")
        for name in (STATUS, CONFIG):
            found |= {path.parent for path in folder.rglob(name)}
    return sorted(found)


def read_run(folder: Path) -> Run:
    """Read one run folder.

    Raises:
        RunFolderError: A file is missing or damaged, or the run has not ended; the text says which.
    """
    status = _read(folder / STATUS)
    state = status.get("state")
    if state == "running":
        raise RunFolderError(f"{folder}: the run has not ended, or was ended from outside")
    if state not in ("completed", "failed"):
        raise RunFolderError(f"{folder / STATUS}: state: expected completed or failed, got {state}")
    settings = _read(folder / CONFIG)
    if state == "failed":
        return Run(folder, state, settings, None, str(status.get("error", "unknown")))
    return Run(folder, state, settings, _read(folder / RESULTS), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise RunFolderError(f"{path}: the file is missing") from None
    except OSError as error:
        raise RunFolderError(f"{path}: can't be read: {error.strerror}") from None
    except ValueError:
        raise RunFolderError(f"{path}: damaged, expected JSON") from None
    if not isinstance(record, dict):
        raise RunFolderError(f"{path}: damaged, expected a JSON object")
    return record
