"""Detection statistics of weighted episodes, so that a bootstrap is a change of weights.

Each builder takes what is fixed (scores, labels) and gives a function from weights
[resamples, n] to the statistic [resamples], NaN where it is undefined. An episode of weight 2
counts as two of it, one of weight 0 is not there.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Statistic = Callable[[Floats], Floats]
"""From episode weights [resamples, n] to the statistic [resamples], NaN where undefined."""

BINS = 10
"""Equal bins of [0, 1] of the calibration error."""


def auroc_of(scores: Floats, unsafe: Flags) -> Statistic:
    """P(s of an unsafe episode > s of a safe one) + P(equal) / 2, the area under the ROC curve."""

    def area(positive: Floats, negative: Floats) -> Floats:
        below = np.cumsum(negative, axis=1) - negative
        wins = (positive * (below + negative / 2)).sum(axis=1)
        return quotient(wins, positive.sum(axis=1) * negative.sum(axis=1))

    return _of_ranking(scores, unsafe, area)


def average_precision_of(scores: Floats, unsafe: Flags) -> Statistic:
    """AP = sum over thresholds of (recall gained there) x precision there (AUPRC).

    Equal scores fall under one threshold. This is scikit-learn's `average_precision_score`: no
    interpolation, which would be optimistic (Davis and Goadrich 2006). Undefined without an unsafe
    episode; without a safe one it is 1 whatever the scores, and so is left undefined too.
    """

    def area(positive: Floats, negative: Floats) -> Floats:
        caught, refused = _at_or_above(positive), _at_or_above(negative)
        blocked = caught + refused
        precision = caught / np.where(blocked == 0, 1, blocked)
        found = quotient((positive * precision).sum(axis=1), caught[:, 0])
        return np.where(refused[:, 0] == 0, np.nan, found)

    return _of_ranking(scores, unsafe, area)


def recall_at_fpr_of(scores: Floats, unsafe: Flags, budget: float) -> Statistic:
    """Largest recall of a threshold whose false-positive rate is at most `budget`.

    The threshold is chosen on these very episodes, so this is a point of their ROC curve and says
    how well scores rank; it is not what a threshold calibrated elsewhere reaches. Candidates are
    the distinct scores and one above all of them, which has recall 0.
    """

    def recall(positive: Floats, negative: Floats) -> Floats:
        caught, refused = _at_or_above(positive), _at_or_above(negative)
        safe = np.where(refused[:, :1] == 0, np.nan, refused[:, :1])
        most = np.where(refused / safe <= budget, caught, 0).max(axis=1)
        return np.where(refused[:, 0] == 0, np.nan, quotient(most, caught[:, 0]))

    return _of_ranking(scores, unsafe, recall)


def share_of(blocked: Flags, among: Flags) -> Statistic:
    """Share of `among` that is blocked."""

    def statistic(weights: Floats) -> Floats:
        return quotient(weights @ (blocked & among), weights @ among)

    return statistic


def brier_of(scores: Floats, unsafe: Flags) -> Statistic:
    """Mean of (s - y)^2, the score taken as the probability of unsafe (Brier 1950)."""
    squared = (scores - unsafe) ** 2

    def statistic(weights: Floats) -> Floats:
        # No matrix product: its sums depend on how many resamples stand in a block.
        return quotient((weights * squared).sum(axis=1), weights.sum(axis=1))

    return statistic


def calibration_error_of(scores: Floats, unsafe: Flags, bins: int = BINS) -> Statistic:
    """Expected calibration error: sum over bins of (n_b / n) |mean score - unsafe share|.

    Bins are `bins` equal parts of [0, 1], closed below; the last one holds 1 as well. Scores are
    probabilities of unsafe, not confidences in a prediction (Naeini et al. 2015, binary form).
    """
    place = np.minimum((scores * bins).astype(np.int64), bins - 1).astype(np.float64)
    order, starts = _ascending(place)
    gap = (scores - unsafe)[order]

    def statistic(weights: Floats) -> Floats:
        if not len(order):
            return np.full(len(weights), np.nan)
        apart = np.add.reduceat(np.take(weights, order, axis=1) * gap, starts, axis=1)
        return quotient(np.abs(apart).sum(axis=1), weights.sum(axis=1))

    return statistic


def quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Their quotient, NaN where the denominator is 0."""
    empty = denominator == 0
    return np.where(empty, np.nan, numerator / np.where(empty, 1, denominator))


def _of_ranking(
    scores: Floats, unsafe: Flags, figure: Callable[[Floats, Floats], Floats]
) -> Statistic:
    """The statistic that follows from the weights of the unsafe and of the safe episodes alone.

    Args:
        scores: [n].
        unsafe: [n].
        figure: Of those weights at each distinct score, ascending, [resamples, scores] each.
    """
    order, starts = _ascending(scores)
    marks = unsafe[order]

    def statistic(weights: Floats) -> Floats:
        if not len(order):
            return np.full(len(weights), np.nan)
        return figure(*_by_score(np.take(weights, order, axis=1), marks, starts))

    return statistic


def _ascending(scores: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order of the scores, and where in it each distinct score starts."""
    order = np.argsort(scores, kind="stable").astype(np.int64)
    ordered = scores[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])).astype(np.int64)
    return order, starts


def _by_score(ordered: Floats, marks: Flags, starts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Weight of the unsafe and of the safe episodes of each distinct score, ascending."""
    return (
        np.add.reduceat(ordered * marks, starts, axis=1),
        np.add.reduceat(ordered * ~marks, starts, axis=1),
    )


def _at_or_above(weights: Floats) -> Floats:
    """Weight at or above each distinct score."""
    total: Floats = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    return total
