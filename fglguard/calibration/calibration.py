"""What a calibration is: a threshold, the rule that chose it, and what it does to its data."""

import math
from dataclasses import dataclass
from typing import Literal

Objective = Literal["max_recall", "benign_only"]
Rule = Literal["plain", "conformal", "clopper_pearson"]
By = Literal["episode", "group"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold and what it does to the data it was chosen on.

    The figures hold for the calibration data alone; what can be said of new data depends on the
    rule (`fglguard.calibration.rules`).

    Attributes:
        threshold: tau: block when a corroborated score >= tau. +inf blocks no finite score.
        budget: rho, the largest false-positive rate allowed.
        objective: `max_recall`, or `benign_only` where there were no unsafe episodes.
        recall: Blocked share of the unsafe episodes; None without any.
        false_positive_rate: Blocked share of the benign episodes.
        benign: Benign episodes seen.
        unsafe: Unsafe episodes seen.
        rule: In which sense the budget is met.
        risk: delta of `clopper_pearson`; None for the other rules.
        by: Whether the rule takes episodes or groups of episodes to be exchangeable.
        benign_groups: Groups with a benign episode; None unless by group.
        bins: Bins of the histogram it was chosen on; None where it was chosen on the scores.
        reason: Why no unsafe calibration episode is blocked, where none is; else None.
    """

    threshold: float
    budget: float
    objective: Objective
    recall: float | None
    false_positive_rate: float
    benign: int
    unsafe: int
    rule: Rule = "plain"
    risk: float | None = None
    by: By = "episode"
    benign_groups: int | None = None
    bins: int | None = None
    reason: str | None = None

    @property
    def blocks_nothing(self) -> bool:
        """Whether every finite score passes."""
        return self.threshold == math.inf
