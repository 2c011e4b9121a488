"""Segments of rows: entry i owns rows offsets[i] : offsets[i + 1] of other arrays."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def segment_rows(
    offsets: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that the chosen segments own, and the segments' offsets once gathered."""
    starts = offsets[chosen]
    counts = offsets[chosen + 1] - starts
    gathered = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(counts, out=gathered[1:])
    rows = np.arange(gathered[-1]) + np.repeat(starts - gathered[:-1], counts)
    return rows, gathered


def joined_offsets(offsets: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Offsets of all parts' segments, one part after the other."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(o) for o in offsets]))]).astype(
        np.int64
    )
