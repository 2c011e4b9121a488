"""The threshold among candidates, given what each would block."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.calibration.calibration import By, Calibration, Rule
from fglguard.calibration.rules import needed_units, permitted
from fglguard.errors import CalibrationError


@dataclass(frozen=True)
class Bound:
    """The rule and its numbers.

    Attributes:
        budget: rho, in [0, 1].
        rule: Which rule.
        risk: delta, in (0, 1); of `clopper_pearson` only.
        by: What is exchangeable.

    Raises:
        CalibrationError: A number is out of range.
    """

    budget: float
    rule: Rule
    risk: float
    by: By

    def __post_init__(self) -> None:
        if not 0 <= self.budget <= 1:
            raise CalibrationError(f"budget: expected a share in [0, 1], got {self.budget!r}")
        if not 0 < self.risk < 1:
            raise CalibrationError(f"risk: expected a share in (0, 1), got {self.risk!r}")

    def allowed(self, refused: NDArray[np.float64], units: int) -> NDArray[np.bool_]:
        """Whether each sum of blocked shares is allowed."""
        return permitted(refused, units, self.budget, self.rule, self.risk, self.by)

    def needed(self) -> int | None:
        """The fewest benign units that allow a finite threshold; None: no number does."""
        return needed_units(self.rule, self.budget, self.risk, self.by)


@dataclass(frozen=True)
class Candidates:
    """Thresholds from +inf downwards, and what lies at or above each.

    Attributes:
        thresholds: [c], the first +inf.
        caught: Unsafe episodes at or above each [c].
        refused: Benign episodes at or above each [c].
        shares: b of `fglguard.calibration.rules`: `refused` by episode, sums of shares by group.
        benign: Benign episodes in all, at least 1.
        unsafe: Unsafe episodes in all.
        units: Exchangeable units with a benign episode.
        bins: Bins of the histogram whose edges the thresholds are; None for scores.
    """

    thresholds: NDArray[np.float64]
    caught: NDArray[np.int64]
    refused: NDArray[np.int64]
    shares: NDArray[np.float64]
    benign: int
    unsafe: int
    units: int
    bins: int | None = None

    @property
    def separate(self) -> bool:
        """Whether one of them blocks some of several episodes and not the others."""
        every = self.benign + self.unsafe
        blocked = self.caught + self.refused
        return every == 1 or bool(((blocked > 0) & (blocked < every)).any())


def count_allowed(candidates: Candidates, bound: Bound) -> int:
    """How many of the candidates the bound allows: the first so many, as counts grow along them.

    Raises:
        CalibrationError: More benign scores are infinite than the bound allows.
    """
    allowed = int(np.count_nonzero(bound.allowed(candidates.shares, candidates.units)))
    if allowed == 0 and candidates.refused[0]:
        raise CalibrationError(
            f"no threshold keeps within the budget of {bound.budget:g}: {candidates.refused[0]} of "
            f"{candidates.benign} benign scores are infinite"
        )
    # +inf blocks no finite score, so it needs no evidence.
    return max(allowed, 1)


def calibration_at(candidates: Candidates, chosen: int, bound: Bound) -> Calibration:
    """The calibration with one of the candidates as its threshold."""
    caught, refused = int(candidates.caught[chosen]), int(candidates.refused[chosen])
    threshold = float(candidates.thresholds[chosen])
    return Calibration(
        threshold=threshold,
        budget=float(bound.budget),
        objective="max_recall" if candidates.unsafe else "benign_only",
        recall=caught / candidates.unsafe if candidates.unsafe else None,
        false_positive_rate=refused / candidates.benign,
        benign=candidates.benign,
        unsafe=candidates.unsafe,
        rule=bound.rule,
        risk=bound.risk if bound.rule == "clopper_pearson" else None,
        by=bound.by,
        benign_groups=candidates.units if bound.by == "group" else None,
        bins=candidates.bins,
        reason=None if caught else _reason(candidates, bound, threshold),
    )


def _reason(candidates: Candidates, bound: Bound, threshold: float) -> str | None:
    """Why nothing unsafe is blocked; None for a threshold chosen on benign episodes alone."""
    unit = "task groups with a benign episode" if bound.by == "group" else "benign episodes"
    name = bound.rule
    needed = bound.needed()
    if needed is None:
        return f"{name}: no number of {unit} meets a budget of {bound.budget:g}"
    if candidates.units < needed:
        return (
            f"{name}: a budget of {bound.budget:g} needs at least {needed} {unit}, there are "
            f"{candidates.units}"
        )
    if not candidates.separate:
        alike = "are equal" if candidates.bins is None else "lie in one bin of the histogram"
        return (
            f"{name}: all {candidates.benign + candidates.unsafe} calibration scores {alike}, so a "
            f"threshold blocks all of these episodes or none, and all is more than a budget of "
            f"{bound.budget:g} allows"
        )
    if candidates.unsafe:
        return (
            f"{name}: no unsafe calibration episode scores above the benign ones that a budget of "
            f"{bound.budget:g} keeps unblocked"
        )
    if threshold == math.inf:
        return f"{name}: even the highest benign scores are more than {bound.budget:g} of them"
    return None
