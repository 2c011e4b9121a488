"""Metrics against scikit-learn and brute force; intervals against a plain bootstrap loop."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from fglguard.evaluation.metrics import auroc, evaluate

UNDEFINED = (None, None, None)


def episodes(n: int = 200, seed: int = 0):
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, n)
    raw = np.round(random.random(n) * 0.7 + label * 0.3, 2)
    corroborated = np.maximum(raw, np.round(random.random(n), 2))
    return raw, corroborated, label, random.integers(0, 20, n), random.integers(-1, 2, n)


@given(
    st.lists(
        st.tuples(st.sampled_from([-1.5, 0.0, 0.5, 1.0]) | st.floats(0, 1), st.integers(-1, 1)),
        max_size=30,
    )
)
def test_auroc_equals_scikit_learn(pairs) -> None:
    scores, labels = [s for s, _ in pairs], [y for _, y in pairs]
    known = [(s, y) for s, y in pairs if y >= 0]
    if len({y for _, y in known}) < 2:
        assert auroc(scores, labels) is None
    else:
        expected = roc_auc_score([y for _, y in known], [s for s, _ in known])
        assert auroc(scores, labels) == pytest.approx(expected, abs=1e-12)


def test_auroc_of_infinite_scores() -> None:
    assert auroc([math.inf, -math.inf, math.inf], [1, 0, 0]) == 0.75


def test_values_equal_their_definitions() -> None:
    raw, corroborated, label, group, clean = episodes()
    label[:10] = -1
    found = evaluate(raw, corroborated, label, group, clean, 0.7, seed=0, resamples=50)
    known, blocked = label >= 0, corroborated >= 0.7
    assert found["auroc_raw"].value == pytest.approx(roc_auc_score(label[known], raw[known]))
    assert found["auroc_corroborated"].value == pytest.approx(
        roc_auc_score(label[known], corroborated[known])
    )
    assert found["recall"].value == pytest.approx(blocked[label == 1].mean())
    assert found["false_positive_rate"].value == pytest.approx(blocked[label == 0].mean())
    harmless = (label == 0) & (clean != 0)
    assert found["over_refusal"].value == pytest.approx(blocked[harmless].mean())
    for estimate in found.values():
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.reason is None


def test_intervals_equal_a_bootstrap_over_groups_done_one_by_one() -> None:
    """The same draws of groups, their episodes concatenated and handed to scikit-learn."""
    raw, corroborated, label, group, clean = episodes(80, seed=3)
    resamples, seed = 60, 5
    found = evaluate(raw, corroborated, label, group, clean, 0.7, seed, resamples)
    names = np.unique(group)
    counts = np.random.default_rng(np.random.SeedSequence(seed)).multinomial(
        len(names), np.full(len(names), 1 / len(names)), resamples
    )
    areas, recalls = [], []
    for row in counts:
        drawn = np.concatenate(
            [
                np.flatnonzero(group == name)
                for name, count in zip(names, row, strict=True)
                for _ in range(count)
            ]
        )
        areas.append(roc_auc_score(label[drawn], raw[drawn]))
        recalls.append((corroborated[drawn] >= 0.7)[label[drawn] == 1].mean())
    for key, draws in (("auroc_raw", areas), ("recall", recalls)):
        low, high = np.percentile(draws, [2.5, 97.5])
        assert (found[key].low, found[key].high) == pytest.approx((low, high), abs=1e-12)


def test_large_groups_widen_the_interval() -> None:
    """Copies add no information: 20 groups of 10 copies are as sure as 20 episodes."""
    random = np.random.default_rng(1)
    score, label = random.random(20), np.arange(20) % 2
    copies = [np.repeat(a, 10) for a in (score, label)]
    group, clean = np.repeat(np.arange(20), 10), np.ones(200)
    single = evaluate(score, score, label, np.arange(20), np.ones(20), 0.5, 0)["auroc_raw"]
    grouped = evaluate(copies[0], copies[0], copies[1], group, clean, 0.5, 0)["auroc_raw"]
    naive = evaluate(copies[0], copies[0], copies[1], np.arange(200), clean, 0.5, 0)["auroc_raw"]
    assert (grouped.low, grouped.high) == pytest.approx((single.low, single.high))
    assert naive.high - naive.low < 0.6 * (grouped.high - grouped.low)


def test_same_seed_same_interval_and_blocks_do_not_show(monkeypatch) -> None:
    data = episodes()
    first = evaluate(*data, 0.7, seed=1, resamples=100)
    assert first == evaluate(*data, 0.7, seed=1, resamples=100)
    assert first != evaluate(*data, 0.7, seed=2, resamples=100)
    monkeypatch.setattr("fglguard.evaluation.bootstrap._BLOCK", 1)
    assert first == evaluate(*data, 0.7, seed=1, resamples=100)


def test_undefined_figures_are_none_with_a_reason() -> None:
    n = 6
    scores, group = np.linspace(0, 1, n), np.arange(n)
    safe = evaluate(scores, scores, np.zeros(n), group, np.zeros(n), 0.5, 0)
    assert (safe["auroc_raw"].value, safe["auroc_raw"].low, safe["auroc_raw"].high) == UNDEFINED
    assert safe["auroc_raw"].reason == "no unsafe episodes"
    assert safe["recall"].value is None
    assert safe["false_positive_rate"].value == 0.5
    assert safe["over_refusal"].reason == "no safe attack-free episodes"

    unsafe = evaluate(scores, scores, np.ones(n), group, np.ones(n), 0.5, 0)
    assert unsafe["false_positive_rate"].reason == "no safe episodes"
    assert unsafe["recall"].value == 0.5

    empty = evaluate([], [], [], [], [], 0.5, 0)
    assert empty["auroc_raw"].reason == "no unsafe and no safe episodes"
    unknown = evaluate(scores, scores, np.full(n, -1), group, np.ones(n), 0.5, 0)
    assert unknown == empty


def test_no_interval_from_one_group_or_too_few_defined_resamples() -> None:
    one = evaluate([0.1, 0.9], [0.1, 0.9], [0, 1], [4, 4], [1, 0], 0.5, 0)["auroc_raw"]
    assert (one.value, one.low, one.high) == (1.0, None, None)
    assert one.reason == "one task group: no interval"
    # Two groups of one class each: half of the resamples draw one twice, and lack a class.
    several = [
        evaluate([0.1, 0.9], [0.1, 0.9], [0, 1], [0, 1], [1, 0], 0.5, seed)["auroc_raw"]
        for seed in range(20)
    ]
    assert any(e.low is None and "resamples: no interval" in e.reason for e in several)
    assert all(e.low == e.high == 1.0 for e in several if e.low is not None)


def test_infinite_threshold_blocks_nothing() -> None:
    found = evaluate(*episodes(), math.inf, 0, 20)
    for key in ("recall", "false_positive_rate", "over_refusal"):
        assert (found[key].value, found[key].low, found[key].high) == (0.0, 0.0, 0.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="five vectors of one length"):
        evaluate([0.1], [0.1, 0.2], [0], [0], [0], 0.5, 0)
    with pytest.raises(ValueError, match="got NaN"):
        evaluate([math.nan], [0.1], [0], [0], [0], 0.5, 0)
    with pytest.raises(ValueError, match="got NaN"):
        evaluate([0.1], [0.1], [0], [0], [0], math.nan, 0)


def test_further_figures_come_with_intervals() -> None:
    raw, corroborated, label, group, clean = episodes()
    found = evaluate(raw, corroborated, label, group, clean, 0.7, 0, 50, budget=0.2)
    blocked = [(corroborated >= t) for t in np.unique(corroborated)]
    recalls = [b[label == 1].mean() for b in blocked if b[label == 0].mean() <= 0.2]
    assert found["recall_at_fpr"].value == pytest.approx(max(recalls))
    assert found["brier"].value == pytest.approx(((raw - label) ** 2).mean())
    assert 0 < found["calibration_error"].low < found["calibration_error"].high
    outside = evaluate(raw * 3, corroborated * 3, label, group, clean, 0.7, 0, 20)
    assert outside["brier"].value is None
    assert "no probabilities" in outside["brier"].reason
