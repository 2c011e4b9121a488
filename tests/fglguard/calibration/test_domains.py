"""Thresholds by domain: each against `calibrate` on the domain's rows alone."""

import math

import numpy as np
import pytest

from fglguard.calibration import (
    ScoreHistogram,
    calibrate,
    calibrate_histogram,
    calibrate_histograms,
    calibrate_pairs,
)
from fglguard.settings import CalibrationSettings


def settings(**changes):
    values = {
        "rule": "plain",
        "budget": 0.1,
        "risk": 0.1,
        "by": "episode",
        "thresholds": "domain",
        "minimum_benign": 20,
        "scores": "pairs",
        "bins": 50,
    }
    return CalibrationSettings(**{**values, **changes})


@pytest.fixture
def table():
    """Domain a: 30 benign; b: 19; c: none; unsafe ones in all. Groups of three."""
    rng = np.random.default_rng(3)
    domains = np.array(["a"] * 50 + ["b"] * 30 + ["c"] * 10)
    labels = np.array([0] * 30 + [1] * 20 + [0] * 19 + [1] * 11 + [1] * 10)
    scores = np.clip(rng.normal(0.3 + 0.3 * labels + 0.1 * (domains == "b"), 0.15), 0, 1)
    return scores, labels, domains, np.arange(90) // 3


def test_a_domain_with_enough_benign_episodes_has_its_own(table) -> None:
    scores, labels, domains, _ = table
    found = calibrate_pairs(*table, settings())
    a = domains == "a"
    assert found.pooled == calibrate(scores, labels, 0.1)
    assert dict(found.domains) == {"a": calibrate(scores[a], labels[a], 0.1)}
    assert found.fallbacks == {
        "b": "19 safe episodes, expected at least 20",
        "c": "0 safe episodes, expected at least 20",
    }
    assert found.of("a") == found.domains["a"]
    assert found.of("b") == found.of("unknown") == found.pooled


def test_pooled_thresholds_are_one(table) -> None:
    found = calibrate_pairs(*table, settings(thresholds="pooled"))
    assert (found.domains, found.fallbacks) == ({}, {})


def test_a_domain_falls_back_where_the_rule_needs_more_than_the_minimum(table) -> None:
    """Clopper-Pearson needs 22 at 10 % and 10 %: the 19 of b would block nothing."""
    found = calibrate_pairs(*table, settings(rule="clopper_pearson", minimum_benign=5))
    assert set(found.domains) == {"a"}
    assert found.fallbacks["b"] == ("19 safe episodes, a budget of 0.1 needs 22 by clopper_pearson")
    assert math.isfinite(found.of("b").threshold)
    none = calibrate_pairs(*table, settings(rule="conformal", budget=0.0))
    assert "no number of safe episodes meets a budget of 0" in none.fallbacks["a"]
    assert none.pooled.threshold == math.inf


def test_by_group_the_minimum_counts_groups(table) -> None:
    """Ten groups of three hold a's 30 benign episodes, seven b's 19."""
    scores, labels, domains, groups = table
    found = calibrate_pairs(*table, settings(by="group", minimum_benign=10, rule="conformal"))
    a = domains == "a"
    expected = calibrate(scores[a], labels[a], 0.1, rule="conformal", groups=groups[a])
    assert dict(found.domains) == {"a": expected}
    assert found.domains["a"].benign_groups == 10
    assert found.fallbacks["b"].startswith("7 task groups with a safe episode")


def test_histograms_are_calibrated_alike(table) -> None:
    scores, labels, domains, _ = table
    parts = {
        name: ScoreHistogram.of(scores[domains == name], labels[domains == name], 50)
        for name in "abc"
    }
    found = calibrate_histograms(parts, settings(scores="histogram"))
    assert found.pooled == calibrate_histogram(ScoreHistogram.of(scores, labels, 50), 0.1)
    assert dict(found.domains) == {"a": calibrate_histogram(parts["a"], 0.1)}
    assert set(found.fallbacks) == {"b", "c"}


@pytest.mark.parametrize("rows", [0, 7])
def test_without_a_benign_episode_there_is_no_threshold_and_a_reason(rows) -> None:
    names = np.full(rows, "a")
    ones = np.ones(rows, int)
    histograms = {"a": ScoreHistogram.of(np.full(rows, 0.5), ones, 5)}
    for found in (
        calibrate_pairs(np.full(rows, 0.5), ones, names, ones, settings()),
        calibrate_histograms(histograms, settings()),
    ):
        assert (found.pooled, found.of("a")) == (None, None)
        assert found.reason == "there is no safe calibration episode to bound it"
