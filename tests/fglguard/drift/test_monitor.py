"""The monitor: false alerts are as rare as promised, changes are found, the rest is refused."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fglguard.calibration import ReferenceHistogram
from fglguard.drift import DriftMonitor
from fglguard.drift.psi import expected_without_drift, population_stability_index
from fglguard.errors import DriftError, SettingsError


def reference(rng, benign=200, unsafe=200):
    """Benign scores Beta(2, 6), unsafe ones Beta(6, 2)."""
    scores = np.concatenate([rng.beta(2, 6, benign), rng.beta(6, 2, unsafe)])
    return ReferenceHistogram.of(scores, np.repeat([0, 1], [benign, unsafe]))


def feed(monitor, scores):
    return [monitor.observe(score) for score in scores]


@pytest.mark.parametrize("size", [10, 100])
def test_false_alerts_are_as_rare_as_promised_whatever_the_reference(size) -> None:
    """At alpha = 0.1, looking after each of 300 scores, at most 73 of 300 monitors may alert.

    By Ville an alert has probability at most 0.1, so their number is at most binomial, and by
    Hoeffding (1963) P(number / n >= 0.1 + t) <= exp(-2 n t^2), which is 4.4e-6 at t = 0.1434. Each
    monitor has a reference of its own, so its sampling error is in the figure too.
    """
    rng = np.random.default_rng(size)
    alerts = 0
    for turn in range(300):
        monitor = DriftMonitor(reference(rng, size), alpha=0.1, seed=turn)
        alerts += any(feed(monitor, rng.beta(2, 6, 300)))
    assert alerts < 300 * (0.1 + 0.1434)


def test_unsafe_scores_are_no_drift_against_all_in_calibrations_mixture() -> None:
    rng = np.random.default_rng(4)
    monitor = DriftMonitor(reference(rng), against="all")
    attacked = rng.random(1000) < 0.5
    feed(monitor, np.where(attacked, rng.beta(6, 2, 1000), rng.beta(2, 6, 1000)))
    report = monitor.report()
    assert not report.alert
    assert report.reference == 400


def test_a_shift_raises_one_alert_that_stays() -> None:
    rng = np.random.default_rng(5)
    monitor = DriftMonitor(reference(rng), window=300)
    assert not any(feed(monitor, rng.beta(2, 6, 500)))
    raised = feed(monitor, rng.beta(4, 4, 400))
    assert raised.count(True) == 1
    feed(monitor, rng.beta(2, 6, 300))
    report = monitor.report()
    assert report.alert
    assert report.alerted_at == 500 + raised.index(True) + 1
    assert report.since == 1200 - report.alerted_at
    assert "higher than the benign calibration scores" in report.reason
    assert f"evidence reached 100 at score {report.alerted_at} of 1200" in report.reason


def test_psi_is_of_the_window_against_the_benign_reference() -> None:
    rng = np.random.default_rng(6)
    known = reference(rng)
    monitor = DriftMonitor(known, window=100, minimum=100)
    scores = rng.beta(2, 5, 250)
    feed(monitor, scores)
    live = ReferenceHistogram.of(scores[-100:], np.zeros(100)).benign
    report = monitor.report()
    assert report.psi == population_stability_index(live, known.benign)
    assert report.psi_without_drift == expected_without_drift(live, known.benign)
    assert (report.scores, report.window, report.reference) == (250, 100, 200)


def test_too_few_scores_are_undefined_and_say_so() -> None:
    rng = np.random.default_rng(7)
    monitor = DriftMonitor(reference(rng), minimum=50)
    before = monitor.report()
    assert (before.psi, before.psi_without_drift, before.e_value) == (None, None, None)
    assert before.reason == "PSI is undefined: 0 live scores, expected at least 50"
    feed(monitor, rng.beta(2, 6, 49))
    report = monitor.report()
    assert report.psi is None
    assert report.e_value is not None
    assert "49 live scores, expected at least 50" in report.reason
    monitor.observe(0.2)
    assert monitor.report().psi is not None
    few = DriftMonitor(reference(rng, 20), minimum=50)
    feed(few, rng.beta(2, 6, 60))
    assert few.report().psi is None
    assert "20 reference scores, expected at least 50" in few.report().reason


def test_without_a_reference_nothing_is_tested_and_it_says_so() -> None:
    monitor = DriftMonitor(None)
    assert not any(feed(monitor, [0.0, 1.0] * 100))
    report = monitor.report()
    assert (report.psi, report.e_value, report.alert) == (None, None, False)
    assert (report.scores, report.reference) == (200, 0)
    assert "has no reference histogram" in report.reason


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.01, 1.01])
def test_what_is_no_score_is_refused_and_not_counted(score) -> None:
    for known in (None, reference(np.random.default_rng(8))):
        monitor = DriftMonitor(known)
        with pytest.raises(DriftError, match=r"expected a score within \[0, 1\], got"):
            monitor.observe(score)
        assert monitor.report().scores == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"alpha": 0.0}, "alpha: expected a share"),
        ({"alpha": 1.0}, "alpha: expected a share"),
        ({"alpha": math.nan}, "alpha: expected a share"),
        ({"minimum": 0}, "minimum: expected 1 to the window's 1000"),
        ({"window": 10}, "minimum: expected 1 to the window's 10 scores, got 30"),
        ({"against": "unsafe"}, "against: expected benign or all"),
    ],
)
def test_options_out_of_range_are_refused(options, told) -> None:
    with pytest.raises(SettingsError, match=told):
        DriftMonitor(None, **options)


def test_the_same_scores_and_seed_give_the_same_report() -> None:
    scores = np.random.default_rng(9).beta(3, 5, 200)
    reports = []
    for _ in range(2):
        monitor = DriftMonitor(reference(np.random.default_rng(9)), seed=3)
        feed(monitor, scores)
        reports.append(monitor.report())
    assert reports[0] == reports[1]
    assert json.loads(json.dumps(reports[0].to_record(), allow_nan=False))["scores"] == 200


def test_threads_lose_no_score() -> None:
    rng = np.random.default_rng(10)
    monitor = DriftMonitor(reference(rng), window=10_000)
    parts = rng.beta(6, 2, (8, 500))
    with ThreadPoolExecutor(8) as pool:
        raised = [any(part) for part in pool.map(lambda part: feed(monitor, part), parts)]
    report = monitor.report()
    assert (report.scores, report.window) == (4000, 4000)
    assert sum(raised) == 1
    live = ReferenceHistogram.of(parts.ravel(), np.zeros(4000)).benign
    known = reference(np.random.default_rng(10)).benign
    assert report.psi == population_stability_index(live, known)
