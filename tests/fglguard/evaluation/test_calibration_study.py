"""The calibration study by hand, and on data whose rates are known."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from fglguard.evaluation.calibration_study import (
    CALIBRATION,
    TEST,
    Resplit,
    resplit_by_group,
    study,
)


def resplit(calibration, test) -> Resplit:
    """Rows are (score, label, group)."""
    rows = [*calibration, *test]
    scores, labels, groups = (np.array(column) for column in zip(*rows, strict=True))
    half = np.repeat([CALIBRATION, TEST], [len(calibration), len(test)])
    return Resplit(scores.astype(float), labels, groups, half)


def outcomes(resplits, **options):
    return {(found.rule, found.by): found for found in study(resplits, **options)}


TEN = [(0.1 * k, 0, k) for k in range(10)]
"""Ten benign episodes at 0, 0.1 ... 0.9, each a group of its own."""


def test_by_hand() -> None:
    """Plain at 0.2 of ten may block 0.9 and 0.8: tau = 0.75, the lowest unsafe score above 0.7.

    Test: benign 0.9, 0.3, 0.3 in one group and 0.2 in another: by episode 1/4 is blocked, by group
    (1/3 + 0) / 2 = 1/6: broken by episode alone. Unsafe 0.8 and 0.5: recall 1/2. Conformal:
    (k + 1) / 11 <= 0.2 lets 0.9 alone be blocked: tau = 0.85, the same on this test half but 0.8
    is let pass. Clopper-Pearson needs 11 at 0.2 and 0.1 (0.8^10 = 0.107): it blocks nothing.
    """
    calibration = [*TEN, (0.75, 1, 50), (0.85, 1, 51)]
    test = [(0.9, 0, 60), (0.3, 0, 60), (0.3, 0, 60), (0.2, 0, 61), (0.8, 1, 60), (0.5, 1, 62)]
    found = outcomes([resplit(calibration, test)], budget=0.2)
    plain, conformal = found["plain", "episode"], found["conformal", "episode"]
    assert (plain.threshold, plain.recall) == (0.75, 0.5)
    assert (plain.false_positive_rate, plain.broken_by_episode) == (0.25, 1.0)
    assert plain.group_false_positive_rate == pytest.approx(1 / 6)
    assert plain.broken_by_group == 0.0
    assert (conformal.threshold, conformal.recall, conformal.broken_by_episode) == (0.85, 0.0, 1.0)
    nothing = found["clopper_pearson", "episode"]
    assert (nothing.threshold, nothing.blocks_nothing, nothing.recall) == (None, 1, 0.0)
    assert (nothing.broken_by_episode, nothing.risk) == (0.0, 0.1)
    assert nothing.reason == "no threshold blocks anything"
    # Groups of one: by group the same.
    assert found["plain", "group"].threshold == 0.75


def test_means_are_over_resplits() -> None:
    """The second test half blocks none: half of the resplits break the budget."""
    calibration = [*TEN, (0.75, 1, 50)]
    broken, kept = [(0.9, 0, 60), (0.9, 1, 60)], [(0.1, 0, 60), (0.1, 1, 60)]
    found = outcomes([resplit(calibration, test) for test in (broken, kept)], budget=0.2)
    plain = found["plain", "episode"]
    assert (plain.resplits, plain.broken_by_episode, plain.recall) == (2, 0.5, 0.5)


def test_what_is_undefined_is_none_with_a_reason() -> None:
    none = outcomes([resplit([(0.5, 1, 1)], [(0.5, 0, 2)]), resplit([(0.5, 0, 1)], [(0.5, 1, 2)])])
    for found in none.values():
        assert (found.resplits, found.undefined) == (0, 2)
        assert found.recall is found.broken_by_episode is found.threshold is None
        assert found.reason == "no resplit has a benign episode in both halves"
    without = outcomes([resplit(TEN, TEN)], budget=0.2)["plain", "episode"]
    assert (without.recall, without.reason) == (None, "no test half has an unsafe episode")
    assert without.false_positive_rate == 0.2
    assert study([])[0].reason == "no resplit has a benign episode in both halves"


def test_unknown_labels_are_left_out() -> None:
    one = resplit([*TEN, (0.75, 1, 50)], [(0.9, 0, 60), (0.9, 1, 60)])
    more = resplit([*TEN, (0.75, 1, 50), (1.0, -1, 3)], [(0.9, 0, 60), (0.9, 1, 60), (0.9, -1, 9)])
    assert study([one]) == study([more])


def test_equal_scores_block_nothing() -> None:
    rows = [(0.5, k % 2, k) for k in range(60)]
    for found in study([resplit(rows, rows)]):
        assert (found.blocks_nothing, found.recall, found.broken_by_group) == (1, 0.0, 0.0)


def test_outcomes_are_strict_json() -> None:
    for found in study([resplit(TEN, TEN)]):
        json.dumps(asdict(found), allow_nan=False)


def test_resplits_keep_groups_whole_and_follow_the_seed() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 21, 300)
    scores, label = rng.random(300), rng.integers(0, 2, 300)
    found = resplit_by_group(scores, label, group, seed=4)
    assert len(found) == 20
    sides = set()
    for one in found:
        calibrating = set(group[one.half == CALIBRATION])
        assert not calibrating & set(group[one.half == TEST])
        assert len(calibrating) == 10  # of 21, a half rounded to even
        sides.add(frozenset(calibrating))
    assert len(sides) == 20
    again = resplit_by_group(scores, label, group, seed=4, count=2)
    assert all((a.half == b.half).all() for a, b in zip(again, found, strict=False))
    other = resplit_by_group(scores, label, group, seed=5, count=1)[0]
    assert (other.half != found[0].half).any()


@pytest.mark.parametrize(("groups", "calibrating"), [(1, 1), (2, 1), (3, 2)])
def test_few_groups_are_dealt_to_both_halves_where_they_can_be(groups, calibrating) -> None:
    ones = np.ones(groups)
    found = resplit_by_group(ones, ones, np.arange(groups), count=1, share=0.6)[0]
    assert (found.half == CALIBRATION).sum() == calibrating


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([0.1, math.nan], [0, 1], [0, 1]), "1 of 2 scores are NaN"),
        (([0.1, 0.2], [0, 1], [0]), "three vectors of one length"),
    ],
)
def test_tables_that_can_not_be_resplit_say_why(arguments, told) -> None:
    with pytest.raises(ValueError, match=told):
        resplit_by_group(*arguments)
    with pytest.raises(ValueError, match="share: expected a number between"):
        resplit_by_group([0.1], [0], [0], share=1.0)


def test_rules_order_as_they_promise() -> None:
    """200 groups of 1 to 8 like episodes, 100 resplits, budget 0.1.

    Plain's rate on new groups is near the budget, so about half of the resplits break it; the
    bound of Clopper and Pearson by group breaks it in at most 10 %, with three standard errors of
    100 resplits 19 % (resplits of one table resemble each other, so that is generous only to a
    point); by group no rule catches more than one with a weaker promise.
    """
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 9, 200)
    group = np.repeat(np.arange(200), sizes)
    label = np.repeat(rng.integers(0, 2, 200), sizes)
    task = np.repeat(rng.normal(0, 0.6, 200), sizes)
    scores = 1 / (1 + np.exp(-(1.5 * (2 * label - 1) + task + rng.normal(0, 0.5, len(task)))))
    found = outcomes(resplit_by_group(scores, label, group, count=100))
    plain, conformal, bound = (
        found[rule, "group"] for rule in ("plain", "conformal", "clopper_pearson")
    )
    assert 0.2 <= plain.broken_by_group <= 0.8
    assert bound.broken_by_group <= 0.19
    assert conformal.group_false_positive_rate <= 0.1
    assert plain.recall >= conformal.recall >= bound.recall > 0
