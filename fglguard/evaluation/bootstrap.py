"""Intervals from resampling whole task groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.evaluation.statistics import Floats, Statistic

LEVEL = 0.95
_BLOCK = 2**20  # weights held at once: 8 MiB


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval.

    Attributes:
        value: The figure on the episodes given; None where it is undefined.
        low: Lower end; None where there is no interval.
        high: Upper end.
        reason: Why there is no value, or no interval; None where there are both.
    """

    value: float | None
    low: float | None
    high: float | None
    reason: str | None


class GroupBootstrap:
    """Resampled task groups, the same ones for every figure.

    Episodes of one task resemble each other, so whole groups are drawn with replacement, as many
    as there are (cluster bootstrap, Davison and Hinkley 1997, section 3.8).

    Args:
        groups: Task group of each episode [n].
        resamples: How often groups are drawn.
        seed: Same seed, same draws.
    """

    def __init__(self, groups: NDArray[np.int64], resamples: int, seed: int) -> None:
        names, self.codes = np.unique(groups, return_inverse=True)
        self.groups = len(names)
        self.counts = draw_groups(self.groups, resamples, np.random.SeedSequence(seed))

    def estimate(self, statistic: Statistic, undefined: str | None) -> Estimate:
        """The statistic on all episodes, and the percentiles of its resamples.

        Args:
            statistic: What to estimate.
            undefined: Why it is undefined on these episodes; None where it is not.
        """
        if undefined:
            return Estimate(None, None, None, undefined)
        value = float(statistic(np.ones((1, len(self.codes))))[0])
        if self.groups < 2:
            return Estimate(value, None, None, "one task group: no interval")
        return with_interval(value, resampled(statistic, self.counts, self.codes))


def draw_groups(groups: int, resamples: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
    """How often each group is drawn in each resample [resamples, groups]."""
    random = np.random.default_rng(seed)
    if not groups:
        return np.zeros((resamples, 0), np.int64)
    counts: NDArray[np.int64] = random.multinomial(groups, np.full(groups, 1 / groups), resamples)
    return counts


def resampled(statistic: Statistic, counts: NDArray[np.int64], codes: NDArray[np.intp]) -> Floats:
    """The statistic in each resample [resamples], NaN where it is undefined.

    Args:
        statistic: Of episode weights.
        counts: [resamples, groups] how often each group was drawn.
        codes: [n] each episode's group.
    """
    step = max(1, _BLOCK // max(1, len(codes)))
    return np.concatenate(
        [
            statistic(np.take(counts[i : i + step], codes, axis=1).astype(np.float64))
            for i in range(0, len(counts), step)
        ]
    )


def with_interval(value: float, draws: Floats) -> Estimate:
    """The value and the 2.5 and 97.5 percentiles of its resamples.

    Resamples in which the figure is undefined do not count; with fewer than half left there is no
    interval.
    """
    defined = draws[~np.isnan(draws)]
    if len(defined) < max(1, len(draws) / 2):
        told = f"defined in {len(defined)} of {len(draws)} resamples: no interval"
        return Estimate(value, None, None, told)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high), None)
