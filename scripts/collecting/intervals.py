"""Means over seeds with their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

LEVEL = 0.95


@dataclass(frozen=True)
class MeanOverSeeds:
    """A mean, and half the width of its 95 % interval.

    Attributes:
        mean: Over the seeds in which the figure is defined.
        half: Half the interval's width; None with a single seed.
        seeds: How many those are.
    """

    mean: float
    half: float | None
    seeds: int


def mean_over_seeds(values: Sequence[float | None]) -> MeanOverSeeds | None:
    """Mean and t-interval: mean +- t(0.975, n - 1) s / sqrt(n), s with n - 1 in its denominator.

    Returns:
        None where no value is defined.
    """
    defined = np.array([value for value in values if value is not None], np.float64)
    seeds = len(defined)
    if not seeds:
        return None
    if seeds == 1:
        return MeanOverSeeds(float(defined[0]), None, 1)
    error = defined.std(ddof=1) / math.sqrt(seeds)
    half = float(t.ppf((1 + LEVEL) / 2, seeds - 1) * error)
    return MeanOverSeeds(float(defined.mean()), half, seeds)
