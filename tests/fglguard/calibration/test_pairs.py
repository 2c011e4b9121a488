"""Thresholds against a brute force over all candidates."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fglguard.calibration import calibrate
from fglguard.errors import CalibrationError

scores = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),  # ties
    st.floats(0, 1),
    st.sampled_from([math.inf, -math.inf]),
)
data = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=25)
budgets = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), st.floats(0, 1))


def brute_force(pairs, budget):
    """(tau, recall, FPR) by the definition; None where no candidate keeps the budget."""
    benign = [s for s, unsafe in pairs if not unsafe]
    unsafe = [s for s, unsafe in pairs if unsafe]
    allowed = []
    for tau in {s for s, _ in pairs} | {math.inf}:
        rate = sum(s >= tau for s in benign) / len(benign)
        recall = sum(s >= tau for s in unsafe) / len(unsafe) if unsafe else None
        if rate <= budget:
            allowed.append((tau, recall, rate))
    if not allowed:
        return None
    if not unsafe:
        return min(allowed)
    return max(allowed, key=lambda c: (c[1], -c[2], c[0]))


@given(data, budgets)
@example([(0.5, True), (0.5, False)], 0.0)
@example([(0.5, True), (0.5, False)], 1.0)
@example([(math.inf, False), (0.5, True)], 0.5)
def test_equals_brute_force(pairs, budget) -> None:
    values, labels = zip(*pairs, strict=True)
    if all(labels):
        with pytest.raises(CalibrationError, match="episodes are unsafe"):
            calibrate(values, labels, budget)
        return
    expected = brute_force(pairs, budget)
    if expected is None:
        with pytest.raises(CalibrationError, match="benign scores are infinite"):
            calibrate(values, labels, budget)
        return
    found = calibrate(values, labels, budget)
    assert (found.threshold, found.recall, found.false_positive_rate) == expected
    assert found.objective == ("max_recall" if any(labels) else "benign_only")
    assert (found.benign, found.unsafe) == (labels.count(False), labels.count(True))
    assert found.false_positive_rate <= found.budget == budget


def test_worked_example() -> None:
    """Ten benign, budget 0.1: one may be blocked.

    tau = 0.6 blocks one benign (0.7) and catches 0.9, 0.8, 0.6: recall 3/4. At 0.5 a second benign
    would be blocked, so 0.4 stays uncaught.
    """
    benign = [0.7, 0.5, 0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0]
    unsafe = [0.9, 0.8, 0.6, 0.4]
    found = calibrate(benign + unsafe, [0] * 10 + [1] * 4, 0.1)
    assert (found.threshold, found.recall, found.false_positive_rate) == (0.6, 0.75, 0.1)


def test_equal_recall_goes_to_the_lower_false_positive_rate() -> None:
    """0.4 and 0.6 both catch the one unsafe at 0.9; so does 0.9, which blocks no benign."""
    assert calibrate([0.9, 0.6, 0.4], [1, 0, 0], 1.0).threshold == 0.9


def test_without_an_affordable_catch_nothing_is_blocked() -> None:
    found = calibrate([0.9, 0.5], [0, 1], 0.0)
    assert (found.threshold, found.recall, found.false_positive_rate) == (math.inf, 0.0, 0.0)


def test_benign_only_takes_the_smallest_threshold_in_budget() -> None:
    """Of 0.1 ... 1.0, a budget of 0.2 lets two be blocked: 1.0 and 0.9."""
    found = calibrate(np.arange(1, 11) / 10, np.zeros(10), 0.2)
    assert (found.threshold, found.recall, found.false_positive_rate) == (0.9, None, 0.2)


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=20))
def test_decides_alike_in_float32_and_float64(pairs) -> None:
    values = np.array([s for s, _ in pairs], dtype=np.float32)
    labels = [unsafe for _, unsafe in pairs]
    if all(labels):
        return
    single, double = calibrate(values, labels, 0.2), calibrate(values.astype(float), labels, 0.2)
    assert single == double
    blocked = values.astype(np.float64) >= single.threshold
    assert blocked[~np.array(labels)].mean() == single.false_positive_rate
    assert ((values >= single.threshold) == blocked).all()


@pytest.mark.parametrize(
    ("values", "labels", "budget", "message"),
    [
        ([], [], 0.1, "there are no scores"),
        ([0.1, math.nan], [0, 1], 0.1, "1 of 2 scores are NaN"),
        ([0.1, 0.2], [1, 1], 0.1, "all 2 episodes are unsafe"),
        ([0.1, 0.2], [0, -1], 0.1, r"labels: expected 0 or 1, got -1 \(1 such\)"),
        ([0.1], [0, 1], 0.1, "expected one label a score"),
        ([0.1], [0], 1.1, r"budget: expected a share in \[0, 1\], got 1.1"),
        ([0.1], [0], math.nan, "budget: expected a share"),
        ([math.inf, 0.1], [0, 1], 0.1, "no threshold keeps within the budget of 0.1: 1 of 1"),
    ],
)
def test_impossible_calibrations_say_why(values, labels, budget, message) -> None:
    with pytest.raises(CalibrationError, match=message):
        calibrate(values, labels, budget)
