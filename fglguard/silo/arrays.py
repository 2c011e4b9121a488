"""Arrays on disk: written whole, opened as memory maps."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SiloError
from fglguard.files import write_atomically


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, and those above it as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def save_array(path: Path, array: NDArray[Any]) -> Path:
    """Write a `.npy` file that only its owner can read."""
    with write_atomically(path, mode=0o600) as file:
        np.save(file, array, allow_pickle=False)
    return path


def map_array(path: Path, dtype: type[np.generic], shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Map a `.npy` file read-only, as a plain array; None in `shape` fits any length.

    Raises:
        SiloError: The file can't be read, or holds another type or shape.
    """
    try:
        # A plain view: indexing a np.memmap goes through Python each time.
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except FileNotFoundError:
        raise SiloError(f"{path}: the file is missing") from None
    except (OSError, ValueError) as error:
        raise SiloError(f"{path}: damaged, expected a .npy array ({error})") from None
    fits = array.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise SiloError(
            f"{path}: expected {np.dtype(dtype)} of shape {shape}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array
