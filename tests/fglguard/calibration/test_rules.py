"""The rules against scipy, by hand, and by simulating what they promise."""

import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from fglguard.calibration import calibrate
from fglguard.calibration.rules import binomial_tail, needed_units, permitted
from fglguard.errors import CalibrationError

RULES = ("plain", "conformal", "clopper_pearson")
shares = st.floats(0.001, 0.999)


@given(st.integers(1, 200), shares)
@example(122, 0.999)
def test_binomial_tail_is_that_of_scipy(units, budget) -> None:
    """To 9 digits, but for probabilities near the smallest double, which neither holds in full."""
    expected = binom.cdf(np.arange(units + 1), units, budget)
    np.testing.assert_allclose(binomial_tail(units, budget), expected, rtol=1e-9, atol=1e-280)


@pytest.mark.parametrize("units", [1, 22, 40, 100])
@pytest.mark.parametrize("budget", [0.05, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("risk", [0.05, 0.1, 0.5])
def test_clopper_pearson_allows_what_scipys_upper_bound_allows(units, budget, risk) -> None:
    """Oracle: `binomtest(...).proportion_ci(method="exact")`, one-sided at level 1 - risk."""
    allowed = permitted(np.arange(units + 1), units, budget, "clopper_pearson", risk, "episode")
    for blocked in range(units + 1):
        test = binomtest(blocked, units, alternative="less")
        upper = test.proportion_ci(confidence_level=1 - risk, method="exact").high
        assert allowed[blocked] == (upper <= budget)


def test_hoeffdings_bound_by_hand() -> None:
    """41 groups at 10 %: -41 KL(1/41, 0.1) = -41 (1/41 ln(10/41) + 40/41 ln(400/369)) = -1.816.

    No blocked share: 41 ln 0.9 = -4.320. The logarithm of risk 0.1 is -2.303, of 0.2 is -1.609.
    """
    for risk, expected in ((0.1, [True, False, False]), (0.2, [True, True, False])):
        found = permitted([0.0, 1.0, 4.1], 41, 0.1, "clopper_pearson", risk, "group")
        assert found.tolist() == expected


def test_hoeffdings_bound_is_above_the_binomial_tail() -> None:
    """Chernoff's bound of a binomial tail: what it allows of whole groups, the exact tail does."""
    for units in (30, 100, 400):
        every = np.arange(units + 1)
        loose = permitted(every, units, 0.1, "clopper_pearson", 0.1, "group")
        exact = permitted(every, units, 0.1, "clopper_pearson", 0.1, "episode")
        assert not (loose & ~exact).any()


@pytest.mark.parametrize(
    ("rule", "budget", "risk", "expected"),
    [
        ("plain", 0.1, 0.1, 1),
        ("conformal", 0.1, 0.1, 9),  # 1 / (n + 1) <= 0.1
        ("conformal", 0.3, 0.1, 3),  # 1 / 4 <= 0.3 < 1 / 3
        ("clopper_pearson", 0.1, 0.1, 22),  # 0.9^22 = 0.0985 <= 0.1 < 0.9^21
        ("clopper_pearson", 0.05, 0.05, 59),  # 0.95^59 = 0.0485 <= 0.05 < 0.95^58
        ("clopper_pearson", 0.5, 0.25, 2),
        ("clopper_pearson", 1.0, 0.1, 1),
        ("conformal", 0.0, 0.1, None),
        ("clopper_pearson", 0.0, 0.1, None),
        ("clopper_pearson", 5e-324, 0.1, None),
    ],
)
def test_needed_units(rule, budget, risk, expected) -> None:
    assert needed_units(rule, budget, risk) == needed_units(rule, budget, risk, "group") == expected


@given(
    st.sampled_from(RULES[1:]), shares, st.floats(0.01, 0.5), st.sampled_from(["episode", "group"])
)
def test_needed_units_are_the_fewest(rule, budget, risk, by) -> None:
    needed = needed_units(rule, budget, risk, by)
    assert permitted([0.0], needed, budget, rule, risk, by)[0]
    assert needed == 1 or not permitted([0.0], needed - 1, budget, rule, risk, by)[0]


def test_worked_conformal_example() -> None:
    """19 benign, budget 0.1: (k + 1) / 20 <= 0.1 lets one be blocked, where plain lets 1 too.

    At 0.15 conformal lets two be blocked (3 / 20), plain two as well (2 / 19 <= 0.15 < 3 / 19).
    With 18, conformal lets none be: 2 / 19 > 0.1.
    """
    benign = np.arange(1, 20) / 20
    unsafe = benign + 0.01  # 0.06 ... 0.96
    labels = [0] * 19 + [1] * 19
    values = np.append(benign, unsafe)
    assert calibrate(values, labels, 0.1, rule="conformal").threshold == pytest.approx(0.91)
    assert calibrate(values, labels, 0.15, rule="conformal").threshold == pytest.approx(0.86)
    fewer = calibrate(values[1:], labels[1:], 0.1, rule="conformal")
    assert (fewer.benign, fewer.threshold) == (18, 0.95 + 0.01)


def test_by_group_shares_are_summed() -> None:
    """Nine groups of one benign each, and one of ten: 0.9 is half of that group.

    By episode five of 19 at or above 0.9 are 26 %; by group the sum is 0.5 of 10, 5 %. At 0.8 all
    ten are, a sum of 1: 10 %, which plain allows by group and conformal (2 / 11) does not.
    """
    benign = [0.1] * 9 + [0.8] * 5 + [0.9] * 5
    groups = [*range(9), *[9] * 10, 77, 77]
    values, labels = [*benign, 0.8, 0.9], [0] * 19 + [1, 1]
    plain = calibrate(values, labels, 0.1, groups=groups)
    assert (plain.threshold, plain.recall, plain.benign_groups, plain.by) == (0.8, 1.0, 10, "group")
    assert plain.false_positive_rate == 10 / 19
    conformal = calibrate(values, labels, 0.14, rule="conformal", groups=groups)
    assert (conformal.threshold, conformal.recall) == (0.9, 0.5)
    assert calibrate(values, labels, 0.1).threshold == math.inf


@pytest.mark.parametrize("rule", RULES[:2])
@given(
    data=st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.booleans()), min_size=2),
    budget=st.floats(0, 1),
)
def test_groups_of_one_are_episodes(rule, data, budget) -> None:
    values, labels = zip(*data, strict=True)
    if all(labels):
        return
    alone = calibrate(values, labels, budget, rule=rule, groups=np.arange(len(values)))
    plain = calibrate(values, labels, budget, rule=rule)
    assert (alone.threshold, alone.recall) == (plain.threshold, plain.recall)


@pytest.mark.parametrize(
    ("rule", "groups", "told"),
    [
        ("conformal", None, "needs at least 9 benign episodes, there are 5"),
        ("clopper_pearson", None, "needs at least 22 benign episodes, there are 5"),
        ("conformal", [0, 0, 0, 1, 1, 2], "needs at least 9 task groups .*, there are 2"),
    ],
)
def test_too_few_benign_episodes_block_nothing_and_say_so(rule, groups, told) -> None:
    found = calibrate([0.1, 0.2, 0.3, 0.4, 0.5, 0.9], [0] * 5 + [1], 0.1, rule=rule, groups=groups)
    assert (found.threshold, found.recall, found.false_positive_rate) == (math.inf, 0.0, 0.0)
    assert found.blocks_nothing
    assert re.search(told, str(found.reason))


@pytest.mark.parametrize("rule", RULES)
def test_equal_scores_block_nothing_and_say_so(rule) -> None:
    found = calibrate(np.full(100, 0.5), [0, 1] * 50, 0.1, rule=rule)
    assert (found.threshold, found.recall) == (math.inf, 0.0)
    assert "all 100 calibration scores are equal" in str(found.reason)
    # Nothing unsafe to catch: the same, as even one benign score blocks them all.
    benign = calibrate(np.full(100, 0.5), [0] * 100, 0.1, rule=rule)
    assert (benign.threshold, benign.recall) == (math.inf, None)
    assert "all 100 calibration scores are equal" in str(benign.reason)


def test_equal_scores_within_a_budget_of_everything_block_everything() -> None:
    found = calibrate(np.full(10, 0.5), [0, 1] * 5, 1.0)
    assert (found.threshold, found.recall, found.reason) == (0.5, 1.0, None)


def test_a_benign_episode_above_all_unsafe_ones_is_not_called_equal() -> None:
    found = calibrate([0.9] + [0.5] * 10, [0] + [1] * 10, 0.0)
    assert "no unsafe calibration episode scores above" in str(found.reason)


def test_five_episodes_have_a_defined_result() -> None:
    found = calibrate([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1], 0.1)
    assert (found.threshold, found.recall, found.reason) == (0.8, 1.0, None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"risk": 0.0}, "risk: expected a share in"),
        ({"risk": math.nan}, "risk: expected a share in"),
        ({"groups": [1]}, "expected one group a score"),
    ],
)
def test_options_out_of_range_are_refused(options, told) -> None:
    with pytest.raises(CalibrationError, match=told):
        calibrate([0.1, 0.9], [0, 1], **options)


def simulated(rng: np.random.Generator, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Benign scores of groups: a group's mean is drawn, its size depends on it, 1 to 12."""
    mean = rng.uniform(0, 1, groups)
    size = 1 + np.floor(12 * mean * rng.uniform(0, 1, groups)).astype(int)
    names = np.repeat(np.arange(groups), size)
    return np.clip(mean[names] * 0.8 + rng.uniform(0, 0.2, len(names)), 0, 1), names


def mean_share(scores: np.ndarray, names: np.ndarray, tau: float) -> float:
    size = np.bincount(names)
    return float(np.mean(np.bincount(names, weights=scores >= tau) / size))


def test_the_promises_by_group_hold_in_simulation() -> None:
    """400 calibrations on 60 groups, the rate from 40,000 fresh groups of the same law.

    Conformal: the mean of the rates is at most 0.1 (three standard errors allowed).
    Clopper-Pearson: at most 10 % of the rates are above 0.1 (three of its standard errors: 4.5 %).
    """
    rng = np.random.default_rng(5)
    fresh = simulated(rng, 40_000)
    rates: dict[str, list[float]] = {"conformal": [], "clopper_pearson": []}
    for _ in range(400):
        scores, names = simulated(rng, 60)
        for rule, found in rates.items():
            tau = calibrate(scores, np.zeros(len(scores)), 0.1, rule=rule, groups=names).threshold
            found.append(mean_share(*fresh, tau))
    conformal = np.array(rates["conformal"])
    assert conformal.mean() <= 0.1 + 3 * conformal.std() / 20
    assert conformal.mean() > 0.05  # and it is not met by blocking nothing
    assert np.mean(np.array(rates["clopper_pearson"]) > 0.1) <= 0.1 + 0.045


@pytest.mark.parametrize("ties", [False, True])
def test_the_promises_by_episode_hold_in_simulation(ties) -> None:
    """2000 calibrations on 50 uniform scores, whose rate at tau is known: 1 - tau.

    With ties, scores are rounded up to tenths, so that P(s >= tau) = 1.1 - tau at each tenth.
    Bounds: three standard errors of a mean of 2000.
    """
    rng = np.random.default_rng(6)
    rates: dict[str, list[float]] = {"conformal": [], "clopper_pearson": []}
    for _ in range(2000):
        scores = rng.uniform(0, 1, 50)
        if ties:
            scores = np.ceil(scores * 10) / 10
        for rule, found in rates.items():
            tau = calibrate(scores, np.zeros(50), 0.15, rule=rule).threshold
            found.append(max(0.0, 1.1 - tau if ties else 1 - tau))
    conformal = np.array(rates["conformal"])
    assert conformal.mean() <= 0.15 + 3 * conformal.std() / math.sqrt(2000)
    broken = np.mean(np.array(rates["clopper_pearson"]) > 0.15 + 1e-9)
    assert broken <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 2000)
