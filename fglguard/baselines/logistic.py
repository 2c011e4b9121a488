"""The linear classifier that all floors share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

T = TypeVar("T")


def logistic_regression(strength: float, seed: int) -> LogisticRegression:
    """L2-regularised logistic regression with balanced class weights.

    Args:
        strength: C, the inverse of the regularisation.
        seed: Of the solver.
    """
    return LogisticRegression(C=strength, max_iter=1000, class_weight="balanced", random_state=seed)


def decisions(
    model: Any, features: Callable[[Sequence[T]], Any], items: Sequence[T]
) -> NDArray[np.float64]:
    """Decision values [items] of a fitted model; scikit-learn refuses to score nothing."""
    if not len(items):
        return np.zeros(0)
    return np.asarray(model.decision_function(features(items)), dtype=np.float64)
