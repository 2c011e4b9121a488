"""What a report draws of test scores: ROC curves and histograms, no episode's score by itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

CURVES_FILE = "curves.json"
BINS = 30
MOST_POINTS = 400
"""A longer ROC curve is thinned to so many of its corners, evenly."""
_STEP = 0.05
_DIGITS = 5


def score_curves(scores: ArrayLike, labels: ArrayLike, domains: ArrayLike) -> dict[str, Any]:
    """Summarise scores by domain, for `curves.json`.

    A ROC curve holds the points (FPR, recall) of blocking at or above each distinct score, without
    those that lie on a straight line between others (scikit-learn's `roc_curve`).

    Args:
        scores: Corroborated scores [n] in [0, 1].
        labels: 1 unsafe, 0 safe [n]; others are left out.
        domains: Name of each episode's domain [n].

    Returns:
        `edges` [BINS + 1] of the histograms, common to all domains; by domain `safe` and `unsafe`,
        counts [BINS], and `roc` with `fpr` and `recall`, null where a class is absent.
    """
    values, marks = np.asarray(scores, np.float64), np.asarray(labels)
    names = np.asarray(domains)
    known = np.isin(marks, (0, 1))
    values, marks, names = values[known], marks[known], names[known]
    edges = _edges(values)
    return {
        "edges": edges.round(_DIGITS).tolist(),
        "domains": {
            str(name): _domain(values[names == name], marks[names == name], edges)
            for name in np.unique(names)
        },
    }


def _domain(
    values: NDArray[np.float64], marks: NDArray[np.int64], edges: NDArray[np.float64]
) -> Mapping[str, Any]:
    return {
        "safe": np.histogram(values[marks == 0], edges)[0].tolist(),
        "unsafe": np.histogram(values[marks == 1], edges)[0].tolist(),
        "roc": _roc(values, marks),
    }


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the lowest to the highest score, both rounded outwards."""
    if not len(values):
        return np.linspace(0.0, 1.0, BINS + 1)
    # Rounded before floor and ceil: 0.15 / 0.05 is a little under 3.
    low = np.floor(np.round(values.min() / _STEP, 9)) * _STEP
    high = np.ceil(np.round(values.max() / _STEP, 9)) * _STEP
    if high <= low:
        low, high = low - _STEP, high + _STEP
    return np.linspace(low, high, BINS + 1)


def _roc(values: NDArray[np.float64], marks: NDArray[np.int64]) -> dict[str, list[float]] | None:
    if len(np.unique(marks)) < 2:
        return None
    # Here: scikit-learn takes a second to import.
    from sklearn.metrics import roc_curve

    fpr, recall, _ = roc_curve(marks, values)
    if len(fpr) > MOST_POINTS:
        kept = np.linspace(0, len(fpr) - 1, MOST_POINTS).round().astype(int)
        fpr, recall = fpr[kept], recall[kept]
    return {"fpr": fpr.round(_DIGITS).tolist(), "recall": recall.round(_DIGITS).tolist()}
