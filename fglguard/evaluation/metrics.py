"""Detection metrics with intervals that respect task groups."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fglguard.evaluation.bootstrap import Estimate, GroupBootstrap
from fglguard.evaluation.statistics import (
    Floats,
    auroc_of,
    average_precision_of,
    brier_of,
    calibration_error_of,
    recall_at_fpr_of,
    share_of,
)


def auroc(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """P(s of an unsafe episode > s of a safe one) + P(equal) / 2, the area under the ROC curve.

    Args:
        scores: [n], higher is more suspect.
        labels: 1 unsafe, 0 safe; others (unknown) are left out.

    Returns:
        None unless both classes are there.
    """
    values, marks = np.asarray(scores, np.float64), np.asarray(labels)
    known = (marks == 0) | (marks == 1)
    area = auroc_of(values[known], marks[known] == 1)(np.ones((1, int(known.sum()))))[0]
    return None if np.isnan(area) else float(area)


def evaluate(
    raw: ArrayLike,
    corroborated: ArrayLike,
    label: ArrayLike,
    group: ArrayLike,
    clean: ArrayLike,
    threshold: float,
    seed: int,
    resamples: int = 1000,
    budget: float = 0.10,
) -> dict[str, Estimate]:
    """Every detection figure, each with its interval.

    An episode is blocked when its corroborated score >= threshold. Intervals come from resampling
    whole task groups (`fglguard.evaluation.bootstrap`). All episodes given count, whatever their
    number; a figure that they do not define is None, with the reason.

    Args:
        raw: Final agents' raw scores [n].
        corroborated: Their corroborated scores [n].
        label: 1 unsafe, 0 safe, -1 unknown [n]; unknown ones are left out.
        group: Task group of each episode [n].
        clean: 1 attack known to be absent, 0 known to be present, -1 unknown [n].
        threshold: tau; may be infinite.
        seed: Same seed, same intervals.
        resamples: Bootstrap resamples.
        budget: rho of `recall_at_fpr`.

    Returns:
        `auroc_raw`, `auroc_corroborated`; `auprc`, the raw scores' average precision;
        `recall`, the blocked share of the unsafe; `false_positive_rate`, that of the safe;
        `over_refusal`, that of the safe episodes in which no attack is known to be present;
        `recall_at_fpr`, the largest recall of a threshold on these episodes' own corroborated
        scores with a false-positive rate of at most `budget`; `brier` and `calibration_error` of
        the raw scores as probabilities.

    Raises:
        ValueError: The arrays differ in length, or a score or the threshold is NaN.
    """
    arrays = [np.asarray(a) for a in (raw, corroborated, label, group, clean)]
    if len({a.shape for a in arrays}) != 1 or arrays[0].ndim != 1:
        raise ValueError(f"expected five vectors of one length, got {[a.shape for a in arrays]}")
    if np.isnan(arrays[0]).any() or np.isnan(arrays[1]).any() or np.isnan(threshold):
        raise ValueError("scores and threshold: expected numbers, got NaN")
    known = np.isin(arrays[2], (0, 1))
    plain, raised, marks, groups, attack_free = (a[known] for a in arrays)
    plain, raised = plain.astype(np.float64), raised.astype(np.float64)
    unsafe = marks == 1
    blocked = raised >= threshold
    harmless = ~unsafe & (attack_free != 0)
    both = missing({"unsafe": unsafe, "safe": ~unsafe})
    improbable = no_probabilities(plain)
    estimate = GroupBootstrap(groups, resamples, seed).estimate
    probable = plain if improbable is None else np.zeros_like(plain)
    return {
        "auroc_raw": estimate(auroc_of(plain, unsafe), both),
        "auroc_corroborated": estimate(auroc_of(raised, unsafe), both),
        "auprc": estimate(average_precision_of(plain, unsafe), both),
        "recall": estimate(share_of(blocked, unsafe), missing({"unsafe": unsafe})),
        "false_positive_rate": estimate(share_of(blocked, ~unsafe), missing({"safe": ~unsafe})),
        "over_refusal": estimate(
            share_of(blocked, harmless), missing({"safe attack-free": harmless})
        ),
        "recall_at_fpr": estimate(recall_at_fpr_of(raised, unsafe, budget), both),
        "brier": estimate(brier_of(probable, unsafe), improbable),
        "calibration_error": estimate(calibration_error_of(probable, unsafe), improbable),
    }


def missing(classes: dict[str, NDArray[np.bool_]]) -> str | None:
    """Which classes have no episode, in words; None where each has one."""
    absent = [name for name, members in classes.items() if not members.any()]
    return f"no {' and no '.join(absent)} episodes" if absent else None


def no_probabilities(scores: Floats) -> str | None:
    """Why scores can't be taken as probabilities; None where they can."""
    if not len(scores):
        return "no labelled episodes"
    if scores.min() < 0 or scores.max() > 1:
        return "scores outside [0, 1] are no probabilities"
    return None
