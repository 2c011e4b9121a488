"""Which settings a set of runs was swept over."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from scripts.collecting.tidy import KEYS

LINE = "strategy"
"""What tells the lines of a plot apart."""
_LEAST_SPREAD = 8


@dataclass(frozen=True)
class Axis:
    """A swept setting.

    Attributes:
        name: Its column.
        values: What it takes, ascending.
        even: Values stand at even distances: texts, and numbers of several magnitudes.
    """

    name: str
    values: tuple[Any, ...]
    even: bool


def swept_axes(frame: pl.DataFrame, settings: list[str]) -> list[Axis]:
    """Settings that were swept by themselves, numbers first.

    Not the seed and not the strategy, which are what plots average over and compare. Nor what
    follows from the strategy and the partition (a preset sets several settings at once), nor what
    follows from an axis found before.
    """
    names = [name for name in (*KEYS, *settings) if name not in (LINE, "seed")]
    groups = [LINE, "partition"]
    free = [n for n in names if n == "partition" or _varies_within(frame, n, groups)]
    axes: list[str] = []
    for name in free:
        if frame[name].n_unique() > 1 and not any(
            not _varies_within(frame, name, [other]) for other in axes
        ):
            axes.append(name)
    found = [_axis(frame, name) for name in axes]
    return sorted(found, key=lambda axis: not _is_number(axis.values[0]))


def _varies_within(frame: pl.DataFrame, name: str, groups: list[str]) -> bool:
    if name in groups:
        return False
    counts = frame.group_by(groups).agg(pl.col(name).n_unique().alias("count"))
    return int(counts["count"].max() or 0) > 1


def _axis(frame: pl.DataFrame, name: str) -> Axis:
    values = tuple(sorted(value for value in frame[name].unique().to_list() if value is not None))
    if not all(_is_number(value) for value in values):
        return Axis(name, values, even=True)
    positive = [value for value in values if value > 0]
    wide = len(positive) > 1 and positive[-1] / positive[0] >= _LEAST_SPREAD
    return Axis(name, values, even=wide and not _evenly_spaced(values))


def _evenly_spaced(values: tuple[float, ...]) -> bool:
    steps = [b - a for a, b in pairwise(values)]
    return max(steps) <= 1.5 * min(steps)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
