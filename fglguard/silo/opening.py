"""Open one silo, or a folder of them."""

from pathlib import Path

from fglguard.errors import SiloError
from fglguard.silo.manifest import MANIFEST
from fglguard.silo.store import Silo


def open_silos(path: Path | str) -> list[Silo]:
    """Open one silo, or every silo in a folder, sorted by the folders' names.

    Raises:
        SiloError: `path` is neither, or one of the silos can't be opened.
    """
    path = Path(path)
    if (path / MANIFEST).exists():
        return [Silo.open(path)]
    if not path.is_dir():
        raise SiloError(f"{path}: expected a silo or a folder of silos, found no such folder")
    folders = sorted(
        child
        for child in path.iterdir()
        if not child.name.startswith(".") and (child / MANIFEST).exists()
    )
    if not folders:
        raise SiloError(
            f"{path}: expected a silo or a folder of silos, found no {MANIFEST} in it or one "
            f"level below"
        )
    return [Silo.open(folder) for folder in folders]
