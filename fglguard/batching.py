"""Graphs in batches, a given number at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fglguard.packed_graphs import GraphBatch, PackedGraphs, collate

EVALUATION_BATCH = 256
"""Graphs at once where nothing is trained."""


def batches(
    packed: PackedGraphs, chosen: NDArray[np.int64], size: int = EVALUATION_BATCH
) -> Iterator[GraphBatch]:
    """The chosen graphs in order, `size` at once; the last batch takes what is left."""
    for start in range(0, len(chosen), size):
        yield collate(packed, chosen[start : start + size])
