"""Late fusion: a detector's branches, standardised by what they give over all sites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fglguard.batching import batches
from fglguard.detector import Detector
from fglguard.packed_graphs import PackedGraphs


@dataclass(frozen=True, slots=True, eq=False)
class BranchSums:
    """Sums over episodes of the final agents' branch scores; sums of sites add up.

    Attributes:
        episodes: How many.
        sums: [branches] float64.
        squares: [branches] float64, sums of squares.
    """

    episodes: int
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]


def branch_sums(detector: Detector, packed: PackedGraphs, indices: NDArray[np.int64]) -> BranchSums:
    """Sums of the branches' scores over some graphs; labels are not looked at."""
    sums = np.zeros(detector.branches)
    squares = np.zeros(detector.branches)
    detector.eval()
    for batch in batches(packed, indices):
        with torch.inference_mode():
            scores = detector.hidden(batch)[batch.final].double().numpy()
        sums += scores.sum(axis=0)
        squares += np.square(scores).sum(axis=0)
    return BranchSums(len(indices), sums, squares)


def fuse_branches(detector: Detector, sites: Iterable[BranchSums], *, robust: bool = False) -> None:
    """Standardise a detector's branches, in place, by mean and deviation over all sites.

        m = sum / n,   s = sqrt(sum of squares / n - m^2)

    Without an episode the detector stays as it was.

    Args:
        detector: Whose.
        sites: Their sums.
        robust: Take the medians of the sites' own m and s instead, which no minority moves far.
    """
    held = [site for site in sites if site.episodes]
    if not held:
        return
    if robust:
        moments = [_moments(site) for site in held]
        mean, deviation = (np.median(part, axis=0) for part in zip(*moments, strict=True))
    else:
        mean, deviation = _moments(
            BranchSums(
                sum(site.episodes for site in held),
                np.sum([site.sums for site in held], axis=0),
                np.sum([site.squares for site in held], axis=0),
            )
        )
    detector.fuse(torch.from_numpy(mean).float(), torch.from_numpy(deviation).float())


def _moments(site: BranchSums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean = site.sums / site.episodes
    variance = site.squares / site.episodes - mean**2
    # What cancellation leaves of a branch that never varies is no deviation.
    return mean, np.sqrt(np.where(variance > 1e-12 * mean**2, variance, 0))
