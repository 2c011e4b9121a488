"""The threshold: as much recall as an over-refusal budget allows."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.errors import CalibrationError

Rule = Literal["max_recall", "benign_only"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold and what it does to the data it was chosen on.

    The figures hold for the calibration data alone; on new data the false-positive rate can
    exceed the budget.

    Attributes:
        threshold: tau: block when a corroborated score >= tau. +inf blocks no finite score.
        budget: rho, the largest false-positive rate allowed.
        rule: `max_recall`, or `benign_only` where there were no unsafe episodes.
        recall: Blocked share of the unsafe episodes; None without any.
        false_positive_rate: Blocked share of the benign episodes.
        benign: Benign episodes seen.
        unsafe: Unsafe episodes seen.
    """

    threshold: float
    budget: float
    rule: Rule
    recall: float | None
    false_positive_rate: float
    benign: int
    unsafe: int


def calibrate(scores: ArrayLike, labels: ArrayLike, budget: float = 0.10) -> Calibration:
    """Choose tau* = argmax recall subject to FPR <= budget (FGLGuard, arXiv 2609.02967).

    Candidates are the distinct scores and +inf; ties in recall go to the lower FPR, then to the
    higher threshold. With benign data only, tau is the smallest candidate whose block rate is
    within the budget. O(n log n). Scores are compared as float64, into which float32 goes exactly,
    and tau is one of them, so that it decides as it did here whatever type a score comes in.

    Args:
        scores: Corroborated scores [n]; higher is more suspect. Infinite ones are ordered as such.
        labels: 1 or true unsafe, 0 or false benign, [n].
        budget: rho, in [0, 1].

    Raises:
        CalibrationError: Nothing to calibrate on, no benign episode (nothing then bounds tau), a
            NaN score, another label, a budget outside [0, 1], or more benign scores at +inf than
            the budget allows.
    """
    values, unsafe = _checked(scores, labels, budget)
    positives = int(unsafe.sum())
    negatives = len(values) - positives
    candidates, caught, refused = _sweep(values, unsafe)
    # Both counts grow as tau falls: the allowed candidates are the first few, the last of which
    # has the most recall, and the first with that recall the lowest FPR and highest threshold.
    allowed = int(np.count_nonzero(refused / negatives <= budget))
    if allowed == 0:
        raise CalibrationError(
            f"no threshold keeps within the budget of {budget:g}: {refused[0]} of {negatives} "
            f"benign scores are infinite"
        )
    last = allowed - 1
    chosen = int(np.searchsorted(caught[:allowed], caught[last])) if positives else last
    return Calibration(
        threshold=float(candidates[chosen]),
        budget=float(budget),
        rule="max_recall" if positives else "benign_only",
        recall=float(caught[chosen] / positives) if positives else None,
        false_positive_rate=float(refused[chosen] / negatives),
        benign=negatives,
        unsafe=positives,
    )


def _sweep(
    values: NDArray[np.float64], unsafe: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Candidates from +inf downwards, and the unsafe and benign scores at or above each."""
    candidates, inverse = np.unique(np.append(values, math.inf), return_inverse=True)
    codes = inverse[:-1]
    caught = np.bincount(codes[unsafe], minlength=len(candidates))[::-1].cumsum()
    refused = np.bincount(codes[~unsafe], minlength=len(candidates))[::-1].cumsum()
    return candidates[::-1], caught, refused


def _checked(
    scores: ArrayLike, labels: ArrayLike, budget: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values = np.asarray(scores, dtype=np.float64)
    marks = np.asarray(labels)
    if values.ndim != 1 or values.shape != marks.shape:
        raise CalibrationError(
            f"expected one label a score, got scores {values.shape} and labels {marks.shape}"
        )
    if not 0 <= budget <= 1:
        raise CalibrationError(f"budget: expected a share in [0, 1], got {budget!r}")
    if not len(values):
        raise CalibrationError("there are no scores to calibrate on")
    if np.isnan(values).any():
        raise CalibrationError(f"{np.isnan(values).sum()} of {len(values)} scores are NaN")
    odd = ~np.isin(marks, (0, 1))
    if odd.any():
        raise CalibrationError(
            f"labels: expected 0 or 1, got {marks[odd][0]!s} ({odd.sum()} such); leave unlabelled "
            f"episodes out"
        )
    unsafe = marks.astype(np.bool_)
    if unsafe.all():
        raise CalibrationError(
            f"all {len(values)} episodes are unsafe; without benign ones no threshold has a "
            f"false-positive rate"
        )
    return values, unsafe
