"""The threshold from score-label pairs."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.calibration.calibration import Calibration, Rule
from fglguard.calibration.choice import Bound, Candidates, calibration_at, count_allowed
from fglguard.errors import CalibrationError


def calibrate(
    scores: ArrayLike,
    labels: ArrayLike,
    budget: float = 0.10,
    *,
    rule: Rule = "plain",
    risk: float = 0.10,
    groups: ArrayLike | None = None,
) -> Calibration:
    """Choose tau* = argmax recall subject to a bound on the FPR (FGLGuard, arXiv 2609.02967).

    Candidates are the distinct scores and +inf; ties in recall go to the lower FPR, then to the
    higher threshold. With benign data only, tau is the smallest candidate that the bound allows.
    O(n log n). Scores are compared as float64, into which float32 goes exactly, and tau is one of
    them, so that it decides as it did here whatever type a score comes in.

    The bound is one of `fglguard.calibration.rules`. Where even a threshold that blocks no benign
    calibration episode can't meet it, for want of episodes, tau is +inf and `reason` says how many
    are needed: the guard blocks nothing, rather than more than it may.

    Args:
        scores: Corroborated scores [n]; higher is more suspect. Infinite ones are ordered as such.
        labels: 1 or true unsafe, 0 or false benign, [n].
        budget: rho, in [0, 1].
        rule: In which sense the budget is met.
        risk: `clopper_pearson` only: delta, how likely it may be missed, in (0, 1).
        groups: Task group of each episode [n]; given, groups are the exchangeable units and the
            bounded rate is the mean over groups of their benign episodes' blocked share.

    Raises:
        CalibrationError: Nothing to calibrate on, no benign episode (nothing then bounds tau), a
            NaN score, another label, a number out of range, or more benign scores at +inf than
            the bound allows.
    """
    bound = Bound(budget, rule, risk, "episode" if groups is None else "group")
    values, unsafe = _checked(scores, labels)
    weights = np.ones(len(values)) if groups is None else _shares(groups, unsafe)
    candidates = _candidates(values, unsafe, weights)
    # The allowed candidates are the first few, the last of which has the most recall, and the
    # first with that recall the lowest FPR and the highest threshold.
    allowed = count_allowed(candidates, bound)
    last = allowed - 1
    if candidates.unsafe:
        last = int(np.searchsorted(candidates.caught[:allowed], candidates.caught[last]))
    return calibration_at(candidates, last, bound)


def _candidates(
    values: NDArray[np.float64], unsafe: NDArray[np.bool_], weights: NDArray[np.float64]
) -> Candidates:
    """The distinct scores and +inf, and what lies at or above each."""
    thresholds, inverse = np.unique(np.append(values, math.inf), return_inverse=True)
    codes, size = inverse[:-1], len(thresholds)
    benign = codes[~unsafe]
    shares = np.bincount(benign, weights=weights[~unsafe], minlength=size)[::-1].cumsum()
    return Candidates(
        thresholds=thresholds[::-1],
        caught=np.bincount(codes[unsafe], minlength=size)[::-1].cumsum(),
        refused=np.bincount(benign, minlength=size)[::-1].cumsum(),
        shares=shares,
        benign=len(benign),
        unsafe=int(unsafe.sum()),
        units=round(float(weights[~unsafe].sum())),
    )


def _shares(groups: ArrayLike, unsafe: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What each benign episode is of its group's benign episodes, 1 / n_g; 0 for the unsafe."""
    names = np.asarray(groups)
    if names.shape != unsafe.shape:
        raise CalibrationError(
            f"expected one group a score, got scores {unsafe.shape} and groups {names.shape}"
        )
    codes = np.unique(names, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(codes[~unsafe], minlength=len(names))[codes]
    return np.where(unsafe, 0.0, 1.0 / np.maximum(sizes, 1))


def _checked(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values = np.asarray(scores, dtype=np.float64)
    marks = np.asarray(labels)
    if values.ndim != 1 or values.shape != marks.shape:
        raise CalibrationError(
            f"expected one label a score, got scores {values.shape} and labels {marks.shape}"
        )
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
