"""Statistics against scikit-learn, hand computation, and copies as many as an episode weighs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss, roc_curve

from fglguard.evaluation.statistics import (
    auroc_of,
    average_precision_of,
    brier_of,
    calibration_error_of,
    recall_at_fpr_of,
    share_of,
)

SCORES = np.array([0.95, 0.85, 0.75, 0.65, 0.55])
UNSAFE = np.array([1, 0, 1, 1, 0], dtype=bool)
PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1), st.booleans()),
    min_size=1,
    max_size=25,
)


def plain(statistic, n: int) -> float:
    return float(statistic(np.ones((1, n)))[0])


def columns(pairs):
    return np.array([s for s, _ in pairs]), np.array([y for _, y in pairs], dtype=bool)


def test_by_hand() -> None:
    """Thresholds from above: .95 catches 1 of 3, .75 the second behind one safe, .65 the third.

    AP = 1/3 (1 + 2/3 + 3/4) = 29/36. Recall at FPR <= .49: only .95 refuses nobody, 1/3; at .5 the
    safe .85 may go, so all 3. AUROC: .95 beats both safe ones, .75 and .65 one each: 4/6. Brier:
    (.0025 + .7225 + .0625 + .1225 + .3025) / 5. Each score has a bin of its own, so that the
    calibration error is the mean of .05, .85, .25, .35, .55.
    """
    assert plain(average_precision_of(SCORES, UNSAFE), 5) == pytest.approx(29 / 36)
    assert plain(recall_at_fpr_of(SCORES, UNSAFE, 0.49), 5) == pytest.approx(1 / 3)
    assert plain(recall_at_fpr_of(SCORES, UNSAFE, 0.5), 5) == 1.0
    assert plain(auroc_of(SCORES, UNSAFE), 5) == pytest.approx(4 / 6)
    assert plain(brier_of(SCORES, UNSAFE), 5) == pytest.approx(1.2125 / 5)
    assert plain(calibration_error_of(SCORES, UNSAFE), 5) == pytest.approx(2.05 / 5)


def test_calibration_error_of_a_shared_bin() -> None:
    """Gaps of one bin cancel: .82 and .88 are .85 on average, half of them unsafe: .35."""
    found = plain(calibration_error_of(np.array([0.82, 0.88]), np.array([True, False])), 2)
    assert found == pytest.approx(0.35)
    one = plain(calibration_error_of(np.array([1.0, 0.95]), np.array([True, False])), 2)
    assert one == pytest.approx(abs((1.95 - 1) / 2))  # 1 lies in the last bin


@given(PAIRS)
def test_average_precision_equals_scikit_learn(pairs) -> None:
    scores, unsafe = columns(pairs)
    found = plain(average_precision_of(scores, unsafe), len(scores))
    if unsafe.all() or not unsafe.any():
        assert math.isnan(found)
    else:
        assert found == pytest.approx(average_precision_score(unsafe, scores), abs=1e-12)


@given(PAIRS, st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
def test_recall_at_fpr_is_a_point_of_scikit_learns_roc(pairs, budget) -> None:
    scores, unsafe = columns(pairs)
    found = plain(recall_at_fpr_of(scores, unsafe, budget), len(scores))
    if unsafe.all() or not unsafe.any():
        assert math.isnan(found)
    else:
        rates, recalls, _ = roc_curve(unsafe, scores, drop_intermediate=False)
        assert found == pytest.approx(recalls[rates <= budget].max(), abs=1e-12)


@given(PAIRS)
def test_brier_equals_scikit_learn(pairs) -> None:
    scores, unsafe = columns(pairs)
    expected = brier_score_loss(unsafe, scores, labels=[False, True])
    assert plain(brier_of(scores, unsafe), len(scores)) == pytest.approx(expected, abs=1e-12)


@given(PAIRS, st.randoms())
def test_a_weight_is_that_many_copies(pairs, random) -> None:
    scores, unsafe = columns(pairs)
    weights = np.array([random.randrange(4) for _ in pairs])
    copies = np.repeat(np.arange(len(pairs)), weights)
    for build in (
        auroc_of,
        average_precision_of,
        brier_of,
        calibration_error_of,
        lambda s, y: recall_at_fpr_of(s, y, 0.3),
        lambda s, y: share_of(s >= 0.5, y),
    ):
        weighted = build(scores, unsafe)(weights[None].astype(float))[0]
        repeated = build(scores[copies], unsafe[copies])(np.ones((1, len(copies))))[0]
        assert weighted == pytest.approx(repeated, abs=1e-12, nan_ok=True)


def test_equal_scores_rank_nothing() -> None:
    """One threshold blocks all: AUROC 1/2 by its ties, AP the unsafe share, recall at FPR < 1 0."""
    scores = np.full(5, 0.3)
    assert plain(auroc_of(scores, UNSAFE), 5) == 0.5
    assert plain(average_precision_of(scores, UNSAFE), 5) == pytest.approx(0.6)
    assert plain(recall_at_fpr_of(scores, UNSAFE, 0.1), 5) == 0.0
