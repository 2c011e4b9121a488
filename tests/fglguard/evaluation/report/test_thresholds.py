"""What is said of thresholds, from records as `server.calibration_record` writes them."""

import dataclasses

import pytest

from fglguard.calibration import Calibration, Calibrations
from fglguard.evaluation.report.run_record import RunRecord
from fglguard.evaluation.report.thresholds import (
    calibration_lines,
    domain_thresholds,
    threshold_text,
    warnings,
)
from fglguard.settings import CalibrationSettings
from server.calibration_record import calibration_record, many_calibrations_record

INFINITY = float("inf")
SETTINGS = CalibrationSettings(
    rule="plain",
    budget=0.1,
    risk=0.1,
    by="episode",
    thresholds="pooled",
    minimum_benign=30,
    scores="pairs",
    bins=64,
)


def calibration(threshold, **changes):
    base = Calibration(threshold, 0.1, "max_recall", 0.5, 0.05, benign=40, unsafe=10)
    return dataclasses.replace(base, **changes)


def run(record, readout="final"):
    settings = {"detector.readout": readout}
    return RunRecord("run", settings, {"calibration": record}, {}, {})


def settings(**changes):
    return dataclasses.replace(SETTINGS, **changes)


def test_a_plain_threshold():
    told = run(calibration_record(Calibrations(calibration(0.25)), SETTINGS))
    assert threshold_text(told, "d") == "0.2500"
    assert warnings(told) == []
    assert domain_thresholds(told) is None
    first, second = calibration_lines(told)
    assert first == (
        "Threshold 0.2500 (over-refusal budget 0.1; rule plain, by episode, from score-label "
        "pairs). On calibration data: recall 0.500, false-positive rate 0.050, 40 safe and 10 "
        "unsafe episodes."
    )
    assert second.startswith("Raw is the final agent's own score.")


def test_rule_risk_groups_and_histograms_are_told():
    found = Calibrations(calibration(0.25, rule="clopper_pearson", risk=0.1, by="group"))
    found = dataclasses.replace(found, pooled=dataclasses.replace(found.pooled, benign_groups=12))
    record = calibration_record(found, settings(rule="clopper_pearson", by="group"))
    (line, _) = calibration_lines(run(record))
    assert "rule clopper-pearson at risk 0.1, by task group (12 with a safe episode)" in line
    found = Calibrations(calibration(0.25, bins=64))
    (line, _) = calibration_lines(run(calibration_record(found, settings(scores="histogram"))))
    assert "from histograms of 64 bins" in line


def test_domains_with_a_threshold_of_their_own_and_without():
    found = Calibrations(
        calibration(0.25),
        {
            "own": calibration(0.75, recall=None, unsafe=0),
            "none": calibration(INFINITY, reason="too few"),
        },
        {"few": "3 safe episodes, expected at least 30"},
    )
    told = run(calibration_record(found, settings(thresholds="domain")))
    assert [told.threshold(d) for d in ("own", "few", "other", "none")] == [0.75, 0.25, 0.25, None]
    assert threshold_text(told, "none") == "blocks nothing"
    assert warnings(told) == ["This guard blocks nothing in domain none: too few."]
    assert calibration_lines(told)[0].startswith("Pooled threshold 0.2500 (")
    assert domain_thresholds(told).rows == [
        ("few", "pooled", "-", "-", "-", "-", "3 safe episodes, expected at least 30"),
        ("none", "blocks nothing", "40", "10", "0.500", "0.050", "too few"),
        ("own", "0.7500", "40", "0", "-", "0.050", ""),
    ]


def test_a_guard_that_blocks_nothing_says_so():
    found = Calibrations(calibration(INFINITY, recall=0.0, reason="plain: for want of scores"))
    told = run(calibration_record(found, SETTINGS))
    assert warnings(told) == ["This guard blocks nothing: plain: for want of scores."]
    assert threshold_text(told, "d") == "blocks nothing"
    assert calibration_lines(told)[0].startswith("No threshold (over-refusal budget")


def test_a_threshold_that_catches_nothing_says_why():
    found = Calibrations(calibration(0.9, recall=0.0, reason="plain: none scores above"))
    told = run(calibration_record(found, SETTINGS))
    assert warnings(told) == []
    expected = "No unsafe calibration episode is blocked: plain: none scores above."
    assert calibration_lines(told)[1] == expected


def test_without_a_guard_there_is_none_to_speak_of():
    told = run(calibration_record(Calibrations(None, reason="no safe episode"), SETTINGS))
    assert not told.guarded
    assert threshold_text(told, "d") == "no guard"
    assert warnings(told) == ["There is no guard: no safe episode."]
    assert "recall -, false-positive rate -, 0 safe and - unsafe" in calibration_lines(told)[0]


def test_clients_with_thresholds_of_their_own():
    """12 of 20 unsafe caught and 3 of 60 safe refused: means by count, not by client."""
    found = [
        Calibrations(calibration(0.5, recall=0.2, unsafe=10, benign=20, false_positive_rate=0.05)),
        Calibrations(calibration(0.5, recall=1.0, unsafe=10, benign=40, false_positive_rate=0.05)),
        Calibrations(None, reason="no safe episode"),
    ]
    told = run(many_calibrations_record(found, settings(thresholds="domain")))
    assert told.own_thresholds and told.guarded
    assert threshold_text(told, "d") == "a client each"
    assert warnings(told) == []
    line = calibration_lines(told)[0]
    assert line.startswith("2 thresholds, a client each (")
    assert "recall 0.600, false-positive rate 0.050, 60 safe and 20 unsafe" in line


@pytest.mark.parametrize(
    ("readout", "said"), [("mean", "agents' mean logit"), ("max", "most suspect agent's")]
)
def test_what_raw_means_with_other_readouts(readout, said):
    told = run(calibration_record(Calibrations(calibration(0.25)), SETTINGS), readout)
    assert said in calibration_lines(told)[-1]
