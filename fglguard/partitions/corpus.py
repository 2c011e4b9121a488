"""All silos' episodes in a row, as a partition sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.silo import Silo

LABELS = (0, 1, -1)
"""Safe, unsafe, unknown."""


@dataclass(frozen=True)
class Corpus:
    """All silos' episodes in a row.

    Attributes:
        silos: The silos, in order.
        domains: Names that `domain` indexes, sorted.
        domain: [episodes] index into `domains`.
        split: [episodes] code of the split; 255 left out.
        label: [episodes] 1 unsafe, 0 safe, -1 unknown.
        parts: Where each silo's episodes stand.
    """

    silos: tuple[Silo, ...]
    domains: list[str]
    domain: NDArray[np.int64]
    split: NDArray[np.uint8]
    label: NDArray[np.int8]
    parts: list[slice]

    @classmethod
    def of(cls, silos: Sequence[Silo]) -> Self:
        """Put the silos' index arrays together; no text is read."""
        domains = sorted({name for silo in silos for name in silo.domains})
        codes = [
            np.array([domains.index(name) for name in silo.domains], dtype=np.int64)[
                np.asarray(silo.domain, dtype=np.int64)
            ]
            for silo in silos
        ]
        ends = np.cumsum([0, *(len(silo) for silo in silos)])
        return cls(
            tuple(silos),
            domains,
            np.concatenate(codes),
            np.concatenate([silo.split for silo in silos]),
            np.concatenate([silo.label for silo in silos]),
            [slice(int(a), int(b)) for a, b in pairwise(ends)],
        )

    def __len__(self) -> int:
        return len(self.label)

    def in_split(self, split: str) -> NDArray[np.bool_]:
        """[episodes] whether each stands in a split."""
        inside: NDArray[np.bool_] = self.split == SPLITS.index(split)
        return inside

    @property
    def dealt(self) -> NDArray[np.bool_]:
        """[episodes] whether a split holds each, so that it can be dealt."""
        dealt: NDArray[np.bool_] = self.split < len(SPLITS)
        return dealt

    @property
    def trains(self) -> NDArray[np.bool_]:
        """[episodes] whether a client can train on it: it stands in train and has a label."""
        return self.in_split("train") & (self.label >= 0)
