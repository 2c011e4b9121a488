"""How many episodes of each domain, split and label every client holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.partitions.corpus import LABELS, Corpus
from fglguard.partitions.share import Share
from fglguard.silo import Silo


@dataclass(frozen=True)
class ShareCounts:
    """How many episodes every client holds.

    Attributes:
        sites: The clients' names.
        site_domains: The clients' domains.
        domains: Names of the episodes' own domains.
        held: [clients, domains, splits, labels], labels in the order safe, unsafe, unknown.
        nobody: [domains, splits, labels] episodes that stand in a split and nobody holds.
    """

    sites: list[str]
    site_domains: list[str]
    domains: list[str]
    held: NDArray[np.int64]
    nobody: NDArray[np.int64]

    def of_split(self, split: str) -> NDArray[np.int64]:
        """[clients, domains, labels] counts in one split."""
        counts: NDArray[np.int64] = self.held[:, :, SPLITS.index(split)]
        return counts


def count_shares(shares: Sequence[Share], silos: Sequence[Silo]) -> ShareCounts:
    """Count what each client holds of the silos it was dealt from, in their order."""
    corpus = Corpus.of(silos)
    shape = (len(corpus.domains), len(SPLITS), len(LABELS))
    # A label of -1 indexes the last place, as in LABELS.
    label = np.asarray(corpus.label, dtype=np.int64) % len(LABELS)
    split = np.where(corpus.dealt, corpus.split, 0).astype(np.int64)
    cell = np.ravel_multi_index((corpus.domain, split, label), shape)

    def count(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(cell[rows], minlength=int(np.prod(shape))).reshape(shape)

    starts = [part.start for part in corpus.parts]
    held = [
        count(
            np.concatenate(
                [rows + start for rows, start in zip(share.indices, starts, strict=True)]
            )
        )
        for share in shares
    ]
    return ShareCounts(
        [share.site for share in shares],
        [share.domain for share in shares],
        corpus.domains,
        np.stack(held),
        count(np.flatnonzero(corpus.dealt)) - np.sum(held, axis=0),
    )
