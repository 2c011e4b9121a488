"""Make a point's folder empty, unless a run is writing to it."""

import shutil
from pathlib import Path

from server.run_folder import LOCK, RunFolder


def clear(place: Path) -> None:
    """Leave an empty folder at `place`, its lock aside.

    What a failed or interrupted point left follows from its settings. The lock file stays: whoever
    holds it would otherwise go on in a folder that another run takes for its own.

    Raises:
        FederationError: A run is writing to the folder; nothing is removed.
        OSError: The folder can't be made or emptied.
    """
    place.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(place)
    folder.lock()
    try:
        for child in place.iterdir():
            if child.name == LOCK:
                continue
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            else:
                child.unlink()
    finally:
        folder.close()
