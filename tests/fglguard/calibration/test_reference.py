"""The coarse reference histogram, against counting by hand and against itself from finer bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.calibration import (
    Calibration,
    ReferenceHistogram,
    ScoreHistogram,
    calibrate_histograms,
    calibrate_pairs,
)
from fglguard.errors import CalibrationError
from fglguard.settings import CalibrationSettings


def test_bins_are_twentieths_and_the_last_holds_one() -> None:
    found = ReferenceHistogram.of([0.0, 0.04, 0.05, 0.99, 1.0, 0.5], [0, 0, 0, 1, 1, 0])
    assert found.benign == (2, 1, *[0] * 8, 1, *[0] * 9)
    assert found.unsafe == (*[0] * 19, 2)
    assert found.every == (2, 1, *[0] * 8, 1, *[0] * 8, 2)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([20, 40, 1000]),
)
def test_merging_fine_bins_is_counting_coarsely(pairs, bins) -> None:
    scores, labels = np.array([s for s, _ in pairs]), np.array([int(y) for _, y in pairs])
    fine = ScoreHistogram.of(scores, labels, bins)
    assert ReferenceHistogram.merged(fine) == ReferenceHistogram.of(scores, labels)


@pytest.mark.parametrize(
    ("bins", "coarse"), [(1000, 20), (64, 16), (50, 10), (19, 19), (2, 2), (202, 2)]
)
def test_whole_bins_alone_are_merged(bins, coarse) -> None:
    """The largest divisor of the number of bins that is at most 20; every count stays."""
    counts = np.arange(bins)
    found = ReferenceHistogram.merged(ScoreHistogram(counts, counts[::-1].copy()))
    assert found is not None
    assert found.bins == coarse
    assert found.benign[0] == sum(range(bins // coarse))
    assert sum(found.benign) == sum(found.unsafe) == counts.sum()


def test_a_prime_number_of_bins_can_not_be_merged() -> None:
    counts = np.ones(101, np.int64)
    assert ReferenceHistogram.merged(ScoreHistogram(counts, counts)) is None


@pytest.mark.parametrize("scores", ["pairs", "histogram"])
def test_calibration_gives_the_counts_of_all_domains_together(scores) -> None:
    settings = CalibrationSettings("plain", 0.1, 0.1, "episode", "domain", 5, scores, 100)
    rng = np.random.default_rng(0)
    values, labels = rng.random(60), rng.integers(0, 2, 60)
    domains = np.array(["a", "b"] * 30)
    if scores == "pairs":
        found = calibrate_pairs(values, labels, domains, np.arange(60), settings)
    else:
        parts = {
            d: ScoreHistogram.of(values[domains == d], labels[domains == d], 100) for d in "ab"
        }
        found = calibrate_histograms(parts, settings)
    assert found.reference == ReferenceHistogram.of(values, labels)
    assert found.pooled is not None
    found.reference.check_counts(found.pooled, "reference")


def test_counts_of_other_episodes_are_told() -> None:
    calibration = Calibration(0.5, 0.1, "max_recall", 1.0, 0.0, benign=3, unsafe=1)
    with pytest.raises(CalibrationError, match=r"r: expected the 3 benign and 1 unsafe .* 2 and 1"):
        ReferenceHistogram((1, 1), (0, 1)).check_counts(calibration, "r")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([], "r: expected an object of benign and unsafe, got a list"),
        ({"benign": [1, 2]}, "r: expected an object of benign and unsafe, got the keys 'benign'"),
        ({"benign": [1, 2], "unsafe": [1.0, 2]}, "r.unsafe: expected a list of whole numbers"),
        ({"benign": [1, True], "unsafe": [1, 2]}, "r.benign: expected a list of whole numbers"),
        ({"benign": 3, "unsafe": [1, 2]}, "r.benign: expected a list of whole numbers"),
        ({"benign": [1, -2], "unsafe": [1, 2]}, "r: expected counts of at least 0"),
        ({"benign": [1], "unsafe": [1]}, "r: expected as many benign as unsafe bins, at least 2"),
        ({"benign": [1, 2], "unsafe": [1]}, "got 2 and 1"),
    ],
)
def test_other_records_are_refused(record, told) -> None:
    with pytest.raises(CalibrationError, match=told):
        ReferenceHistogram.from_record(record, "r")


def test_a_record_survives() -> None:
    found = ReferenceHistogram.of([0.1, 0.9], [0, 1])
    assert ReferenceHistogram.from_record(found.to_record()) == found


def test_scores_outside_the_unit_interval_are_refused() -> None:
    with pytest.raises(CalibrationError, match=r"within \[0, 1\]"):
        ReferenceHistogram.of([float("nan")], [0])
