"""Histogram calibration against the exact rule on the scores that were counted."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fglguard.calibration import ScoreHistogram, calibrate, calibrate_histogram
from fglguard.calibration.histogram import counts
from fglguard.calibration.rules import permitted
from fglguard.errors import CalibrationError

scores = st.one_of(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.55, 1.0]), st.floats(0, 1))
data = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=60)


@pytest.mark.parametrize("rule", ["plain", "conformal", "clopper_pearson"])
@settings(max_examples=150)
@given(pairs=data, bins=st.integers(2, 30), budget=st.floats(0, 1), risk=st.floats(0.05, 0.5))
@example(pairs=[(0.5, True), (0.5, False)] * 30, bins=10, budget=0.1, risk=0.1)
@example(pairs=[(0.55, True), (0.5, False)] * 30, bins=10, budget=0.1, risk=0.1)
@example(pairs=[(0.52, True), (0.55, False), (0.95, True)] * 9, bins=10, budget=0.1, risk=0.1)
@example(pairs=[(0.95, True), (0.92, False)] * 30, bins=10, budget=0.1, risk=0.1)
@example(pairs=[(0.55, False), (0.56, False)], bins=10, budget=0.5, risk=0.1)
def test_at_most_one_bin_from_a_threshold_of_the_exact_rules_recall(
    rule, pairs, bins, budget, risk
) -> None:
    values, labels = (np.array(column) for column in zip(*pairs, strict=True))
    if labels.all():
        return
    exact = calibrate(values, labels, budget, rule=rule, risk=risk)
    histogram = ScoreHistogram.of(values, labels, bins)
    found = calibrate_histogram(histogram, budget, rule=rule, risk=risk)
    blocked = values >= found.threshold
    # Its figures are those of the scores, and the bound holds exactly.
    refused = int(blocked[~labels].sum())
    assert found.false_positive_rate == refused / (~labels).sum()
    if labels.any():
        assert found.recall == blocked[labels].sum() / labels.sum()
    if refused:
        assert permitted([refused], found.benign, budget, rule, risk, "episode")[0]
    if abs(min(found.threshold, 1) - min(exact.threshold, 1)) > 1 / bins + 1e-12:
        # Only where benign scores alone decide: it then catches as much, from further below.
        assert found.threshold < exact.threshold
        assert (found.recall, found.objective) == (exact.recall, exact.objective)
        same_class = labels if labels.any() else ~labels
        between = (values >= found.threshold) & (values < exact.threshold)
        assert not (between & same_class).any()


@pytest.mark.parametrize("rule", ["plain", "conformal", "clopper_pearson"])
def test_many_scores_agree_to_one_bin(rule) -> None:
    """2000 scores of each class in 100 bins: every bin near tau holds some of both."""
    rng = np.random.default_rng(1)
    values = np.append(rng.beta(2, 4, 2000), rng.beta(4, 2, 2000))
    labels = np.repeat([0, 1], 2000)
    exact = calibrate(values, labels, 0.1, rule=rule).threshold
    found = calibrate_histogram(ScoreHistogram.of(values, labels, 100), 0.1, rule=rule).threshold
    assert abs(found - exact) <= 0.01


def test_worked_example() -> None:
    """Ten bins, budget 0.1 of ten benign: 0.7 may be blocked, 0.52 not.

    No unsafe score lies in 0.52's bin; of those above, 0.66 is the lowest: the edge 0.6.
    With an unsafe 0.55 in that bin the upper edge, 0.6 too; with 0.66 moved to 0.76, still 0.6.
    """
    benign = [0.7, 0.52, 0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0]
    for unsafe in ([0.9, 0.66, 0.4], [0.9, 0.66, 0.55], [0.9, 0.76, 0.55]):
        values, labels = [*benign, *unsafe], [0] * 10 + [1] * 3
        found = calibrate_histogram(ScoreHistogram.of(values, labels, 10), 0.1)
        assert (found.threshold, found.recall, found.bins) == (0.6, 2 / 3, 10)
        assert found.false_positive_rate == 0.1


@given(st.lists(st.floats(0, 1), max_size=50), st.integers(2, 1000))
def test_a_bin_is_what_a_threshold_at_its_edge_blocks(values, bins) -> None:
    """Counts from an edge upwards are the scores at or above it, to the last bit."""
    found = counts(np.array(values), bins)
    for edge in (0, 1, bins // 2, bins - 1):
        assert found[edge:].sum() == sum(value >= edge / bins for value in values)


def test_sums_of_sites_are_the_histogram_of_all() -> None:
    rng = np.random.default_rng(2)
    values, labels = rng.random(100), rng.integers(0, 2, 100)
    together = ScoreHistogram.of(values, labels, 7)
    parts = ScoreHistogram.of(values[:40], labels[:40], 7) + ScoreHistogram.of(
        values[40:], labels[40:], 7
    )
    np.testing.assert_array_equal(together.benign, parts.benign)
    np.testing.assert_array_equal(together.unsafe, parts.unsafe)


def test_too_few_benign_episodes_block_nothing_and_say_so() -> None:
    histogram = ScoreHistogram.of([0.1, 0.2, 0.9], [0, 0, 1], 10)
    found = calibrate_histogram(histogram, 0.1, rule="clopper_pearson")
    assert found.threshold == math.inf
    assert "needs at least 22 benign episodes, there are 2" in str(found.reason)


def test_scores_of_one_bin_block_nothing_and_say_so() -> None:
    """The lowest edge that blocks none: the exact rule, which sees the .59s, may lie below it."""
    found = calibrate_histogram(ScoreHistogram.of([0.51, 0.52, 0.59] * 9, [0, 0, 1] * 9, 10), 0.1)
    assert (found.threshold, found.recall) == (pytest.approx(0.6), 0.0)
    assert "all 27 calibration scores lie in one bin of the histogram" in str(found.reason)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ScoreHistogram.of([0.1, math.nan], [0, 1], 5), r"within \[0, 1\], got 1 of 1"),
        (lambda: ScoreHistogram.of([1.1], [0], 5), r"expected scores within \[0, 1\]"),
        (lambda: ScoreHistogram.of([0.1], [0, 1], 5), "expected one label a score"),
        (lambda: calibrate_histogram(ScoreHistogram.of([0.1], [1], 5)), "all 1 episodes are un"),
        (lambda: calibrate_histogram(ScoreHistogram.of([], [], 5)), "all 0 episodes"),
        (
            lambda: calibrate_histogram(ScoreHistogram(np.array([1, -1]), np.array([0, 0]))),
            "at least 0, got a negative",
        ),
        (
            lambda: calibrate_histogram(ScoreHistogram(np.array([1]), np.array([0, 0]))),
            "two histograms of one length",
        ),
    ],
)
def test_what_can_not_be_counted_says_why(make, told) -> None:
    with pytest.raises(CalibrationError, match=told):
        make()
