"""Searches for sides of task groups that come near the wanted shares of every class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

LEFT_OUT = 255
_CANDIDATES = 48
_IMPROVED = 2
_IMPROVED_OF_GRID = 12
_PASSES = 6
_MOST_UNITS_TO_IMPROVE = 400
# Weights of the cost: a class without an episode on a side; the share left out; and that share
# beyond the largest that is acceptable.
_MISSING = 1.0
_LEFT_OUT_COST = 0.1
_EXCESS_COST = 5.0
_ACCEPTABLE = 0.39
# Sharper shares of keys than of episodes leave fewer episodes of a grid out.
_SHARPNESS = (1.0, 1.5, 2.0, 2.5)


@dataclass(frozen=True)
class SplitProblem:
    """Episodes, the units they belong to, and the classes they count towards.

    Attributes:
        rows: [episodes] code of each episode's distinct set of units.
        units: [distinct sets, width] unit codes, padded by repeating the first.
        counts: [distinct sets, classes] how many episodes of each class.
        shares: [3] wanted shares of the sides.
    """

    rows: NDArray[np.int64]
    units: NDArray[np.int64]
    counts: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        units: Sequence[tuple[str, ...]],
        classes: Sequence[tuple[str, ...]],
        shares: NDArray[np.float64],
    ) -> Self:
        """Number the units, their distinct sets and the classes, and count."""
        sets: dict[tuple[str, ...], int] = {}
        rows = np.array([sets.setdefault(own, len(sets)) for own in units], dtype=np.int64)
        names: dict[str, int] = {}
        width = max(map(len, sets))
        table = np.array(
            [
                [names.setdefault(unit, len(names)) for unit in own + own[:1] * (width - len(own))]
                for own in sets
            ],
            dtype=np.int64,
        )
        kinds: dict[str, int] = {}
        pairs = [
            (row, kinds.setdefault(kind, len(kinds)))
            for row, own in zip(rows.tolist(), classes, strict=True)
            for kind in own
        ]
        counts = np.zeros((len(sets), len(kinds)))
        np.add.at(counts, tuple(np.array(pairs).T), 1.0)
        return cls(rows, table, counts, shares)

    @property
    def is_grid(self) -> bool:
        """Whether an episode can belong to several units, and so be left out."""
        return bool(self.units.shape[1] > 1)

    def sides_of_rows(self, sides: NDArray[np.int64]) -> NDArray[np.int64]:
        """Side of each distinct set: that of its units, or 255 where they disagree."""
        each = sides[self.units]
        return np.where((each == each[:, :1]).all(axis=1), each[:, 0], LEFT_OUT)

    def cost(self, sides: NDArray[np.int64]) -> float:
        """How bad an assignment of units to sides is; 0 is perfect.

        The mean over classes of the chi-square distance of its shares from the wanted ones,
        sum over sides (share - wanted)^2 / wanted, which keeps small sides from being starved;
        plus 0.1 times the share left out; plus 5 times what of it exceeds 0.39; plus 1 for each
        class that is missing from a side that should hold some of it.
        """
        of_rows = self.sides_of_rows(sides)
        held = np.stack([self.counts[of_rows == side].sum(axis=0) for side in range(3)])
        kept = held.sum(axis=0)
        wanted = self.shares[self.shares > 0, None]
        held = held[self.shares > 0]
        apart = ((held / np.maximum(kept, 1) - wanted) ** 2 / wanted).sum(axis=0)
        missing = (held == 0).sum()
        left_out = 1 - kept.sum() / self.counts.sum()
        loss = _LEFT_OUT_COST * left_out + _EXCESS_COST * max(0.0, left_out - _ACCEPTABLE)
        return float(apart.mean() + loss + _MISSING * missing)


def assign(problem: SplitProblem, seed: np.random.SeedSequence) -> NDArray[np.uint8]:
    """Side of each episode, 255 for one whose units disagree: the best assignment found."""
    generator = np.random.default_rng(seed)
    candidates = [
        _candidate(problem, _SHARPNESS[number % len(_SHARPNESS)], generator)
        for number in range(_CANDIDATES)
    ]
    ranked = sorted(candidates, key=problem.cost)
    if len(ranked[0]) <= _MOST_UNITS_TO_IMPROVE:
        most = _IMPROVED_OF_GRID if problem.is_grid else _IMPROVED
        ranked = [_improved(problem, sides) for sides in ranked[:most]]
    best = min(ranked, key=problem.cost)
    return problem.sides_of_rows(best)[problem.rows].astype(np.uint8)


def _candidate(
    problem: SplitProblem, sharpness: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Shuffle the units, lay them end to end by size, and cut at the wanted shares."""
    count = int(problem.units.max()) + 1
    size = np.zeros(count)
    weight = problem.counts.sum(axis=1)
    np.add.at(size, problem.units.ravel(), np.repeat(weight, problem.units.shape[1]))
    wanted = problem.shares.copy()
    if problem.is_grid:
        wanted = wanted**sharpness / (wanted**sharpness).sum()
    order = generator.permutation(count)
    middle = (np.cumsum(size[order]) - size[order] / 2) / size.sum()
    sides = np.empty(count, dtype=np.int64)
    sides[order] = np.searchsorted(np.cumsum(wanted)[:2], middle, side="right")
    return sides


def _improved(problem: SplitProblem, sides: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move single units to other sides as long as that makes the assignment better."""
    sides = sides.copy()
    best = problem.cost(sides)
    for _ in range(_PASSES):
        before = best
        for unit in range(len(sides)):
            for side in np.flatnonzero(problem.shares > 0):
                old = sides[unit]
                sides[unit] = side
                cost = problem.cost(sides)
                if cost < best:
                    best = cost
                else:
                    sides[unit] = old
        if best == before:
            break
    return sides
