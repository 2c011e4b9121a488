"""The threshold from counts in a fixed histogram, so that no score-label pair is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.calibration.calibration import Calibration, Rule
from fglguard.calibration.choice import Bound, Candidates, calibration_at, count_allowed
from fglguard.errors import CalibrationError


@dataclass(frozen=True)
class ScoreHistogram:
    """Counts of scores in equal bins of [0, 1].

    Bin i of n holds i / n <= s < (i + 1) / n, the last one s = 1 too.

    Attributes:
        benign: [bins] int64.
        unsafe: [bins] int64.
    """

    benign: NDArray[np.int64]
    unsafe: NDArray[np.int64]

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike, bins: int) -> ScoreHistogram:
        """Count the scores of both classes.

        Raises:
            CalibrationError: A score is outside [0, 1] or NaN, or the lengths differ.
        """
        values, unsafe = np.asarray(scores, np.float64), np.asarray(labels) == 1
        if values.shape != unsafe.shape:
            raise CalibrationError(
                f"expected one label a score, got scores {values.shape} and labels {unsafe.shape}"
            )
        return cls(counts(values[~unsafe], bins), counts(values[unsafe], bins))

    def __add__(self, other: ScoreHistogram) -> ScoreHistogram:
        return ScoreHistogram(self.benign + other.benign, self.unsafe + other.unsafe)


def edges(bins: int) -> NDArray[np.float64]:
    """Lower edges of the bins: 0, 1 / bins, ..., (bins - 1) / bins."""
    return np.arange(bins) / bins


def counts(scores: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """How many scores lie in each bin, [bins] int64.

    Raises:
        CalibrationError: A score is outside [0, 1] or NaN.
    """
    outside = ~((scores >= 0) & (scores <= 1))
    if outside.any():
        raise CalibrationError(
            f"expected scores within [0, 1], got {outside.sum()} of {len(scores)} others"
        )
    # By comparison with the edges, as the guard compares; s * bins rounds.
    codes = np.searchsorted(edges(bins), scores, side="right") - 1
    return np.bincount(codes, minlength=bins).astype(np.int64)


def calibrate_histogram(
    histogram: ScoreHistogram,
    budget: float = 0.10,
    *,
    rule: Rule = "plain",
    risk: float = 0.10,
) -> Calibration:
    """Choose the threshold as `calibrate` does, by episode, among the bins' lower edges and +inf.

    At an edge the counts are exact, so the rule's bound, the recall and the FPR are those of the
    scores themselves; only the choice is coarser. Let m be the first benign score, from the top,
    that the rule can't let be blocked: it allows any threshold above m. The exact rule takes the
    lowest unsafe score u above m; every threshold in (m, u] catches as much.

    - No unsafe score lies in m's bin: the lower edge of u's bin is taken, at most one bin below u.
    - Some do, and a histogram can't tell whether they lie above m. The upper edge of m's bin is
      taken, the lowest that the rule allows. Either u is in that bin and at most one bin below it,
      or the edge is in (m, u] and catches as much as u does, with more benign episodes blocked
      but within the bound.

    So tau is within one bin of a threshold with the exact rule's recall, and differs from the
    exact rule's by more than a bin only where benign scores alone decide between equal recalls.
    +inf counts as 1, the end of the last bin. With benign data only, the same holds of the smallest
    benign score above m.

    Args:
        histogram: Counts of corroborated scores.
        budget: rho, in [0, 1].
        rule: In which sense the budget is met.
        risk: `clopper_pearson` only: delta, in (0, 1).

    Raises:
        CalibrationError: No benign episode, a negative count, or a number out of range.
    """
    bound = Bound(budget, rule, risk, "episode")
    candidates = _candidates(histogram)
    last = count_allowed(candidates, bound) - 1
    if not _ambiguous(candidates, last, bound):
        blocked = candidates.caught if candidates.unsafe else candidates.refused
        last = int(np.searchsorted(blocked[: last + 1], blocked[last]))
    return calibration_at(candidates, last, bound)


def _candidates(histogram: ScoreHistogram) -> Candidates:
    benign, unsafe = histogram.benign, histogram.unsafe
    if benign.shape != unsafe.shape or benign.ndim != 1 or not len(benign):
        raise CalibrationError(
            f"expected two histograms of one length, got {benign.shape} and {unsafe.shape}"
        )
    if (benign < 0).any() or (unsafe < 0).any():
        raise CalibrationError("expected counts of at least 0, got a negative one")
    if not benign.sum():
        raise CalibrationError(
            f"all {unsafe.sum()} episodes are unsafe; without benign ones no threshold has a "
            f"false-positive rate"
        )
    refused = np.append(0, benign[::-1].cumsum())
    return Candidates(
        thresholds=np.append(math.inf, edges(len(benign))[::-1]),
        caught=np.append(0, unsafe[::-1].cumsum()),
        refused=refused,
        shares=refused.astype(np.float64),
        benign=int(benign.sum()),
        unsafe=int(unsafe.sum()),
        units=int(benign.sum()),
        bins=len(benign),
    )


def _ambiguous(candidates: Candidates, last: int, bound: Bound) -> bool:
    """Whether the exact rule's threshold may lie in the bin just below the last allowed edge."""
    if last + 1 == len(candidates.thresholds):
        return False
    if candidates.unsafe:
        return bool(candidates.caught[last + 1] > candidates.caught[last])
    one_more = candidates.shares[last] + 1
    return bool(bound.allowed(np.array([one_more]), candidates.units)[0])
