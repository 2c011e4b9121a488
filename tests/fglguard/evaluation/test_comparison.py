"""Means over cells against loops over episodes; paired differences against their parts."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from fglguard.evaluation.comparison import METRICS, Cell, mean_over_cells


def cell(seed: int, stratum: str = "a", n: int = 60, shift: float = 0.3) -> Cell:
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, n)
    noise = random.random(n)
    return Cell(
        stratum,
        label,
        random.integers(0, 15, n),
        noise * (1 - shift) + label * shift,
        noise * 0.9 + label * 0.1,
    )


def alone(one: Cell) -> Cell:
    return Cell(one.stratum, one.label, one.group, one.scores)


def test_the_value_is_the_mean_of_the_cells() -> None:
    cells = [alone(cell(0)), alone(cell(1)), alone(cell(2, "b"))]
    found = mean_over_cells(cells, resamples=50)
    assert found.value == pytest.approx(np.mean([roc_auc_score(c.label, c.scores) for c in cells]))
    assert found.low < found.value < found.high
    precision = mean_over_cells(cells, "auprc", resamples=50)
    assert precision.value == pytest.approx(
        np.mean([average_precision_score(c.label, c.scores) for c in cells])
    )


def test_the_difference_is_paired() -> None:
    """Groups drawn once for both arms and all cells, done one by one with scikit-learn."""
    cells, seed, resamples = [cell(0), cell(1)], 3, 40
    found = mean_over_cells(cells, seed=seed, resamples=resamples)
    names = np.unique(np.concatenate([c.group for c in cells]))
    counts = np.random.default_rng(np.random.SeedSequence([seed, 0])).multinomial(
        len(names), np.full(len(names), 1 / len(names)), resamples
    )
    draws = []
    for row in counts:
        differences = []
        for c in cells:
            drawn = np.repeat(np.arange(len(c.label)), row[np.searchsorted(names, c.group)])
            differences.append(
                roc_auc_score(c.label[drawn], c.scores[drawn])
                - roc_auc_score(c.label[drawn], c.other[drawn])
            )
        draws.append(np.mean(differences))
    assert (found.low, found.high) == pytest.approx(np.percentile(draws, [2.5, 97.5]))


@pytest.mark.parametrize("metric", METRICS)
def test_an_arm_does_not_differ_from_itself(metric) -> None:
    one = cell(0)
    same = Cell("a", one.label, one.group, one.scores, one.scores)
    found = mean_over_cells([same], metric, resamples=20)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_seeds_that_test_the_same_episodes_make_no_interval_narrower() -> None:
    one = alone(cell(0))
    once, often = mean_over_cells([one]), mean_over_cells([one] * 5)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_a_cell_that_defines_nothing_does_not_count() -> None:
    one = alone(cell(0))
    single = Cell("b", np.zeros(4, int), np.arange(4), np.full(4, 0.5))
    assert mean_over_cells([one, single]).value == mean_over_cells([one]).value
    nothing = mean_over_cells([single])
    assert (nothing.value, nothing.reason) == (None, "no unsafe episodes")
    assert mean_over_cells([]).reason == "no episodes"


def test_five_episodes_of_one_task_have_a_value_and_no_interval() -> None:
    few = Cell(
        "a", np.array([0, 1, 0, 1, 1]), np.zeros(5, int), np.array([0.1, 0.9, 0.2, 0.8, 0.7])
    )
    found = mean_over_cells([few])
    assert (found.value, found.low) == (1.0, None)
    assert found.reason == "one task group: no interval"


def test_missing_labels_are_left_out() -> None:
    one = alone(cell(0))
    padded = Cell(
        "a",
        np.append(one.label, [-1, -1]),
        np.append(one.group, [3, 4]),
        np.append(one.scores, [0.0, 1.0]),
    )
    assert mean_over_cells([padded], resamples=30) == mean_over_cells([one], resamples=30)


def test_scores_that_are_no_probabilities_have_no_brier_score() -> None:
    one = Cell("a", np.array([0, 1]), np.arange(2), np.array([-3.0, 2.0]))
    assert mean_over_cells([one]).value == 1.0
    assert "no probabilities" in mean_over_cells([one], "brier").reason


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="got NaN"):
        Cell("a", np.array([1]), np.array([0]), np.array([np.nan]))
    with pytest.raises(ValueError, match="one length"):
        Cell("a", np.array([1, 0]), np.array([0]), np.array([0.5]))
    with pytest.raises(ValueError, match="expected one of auroc"):
        mean_over_cells([alone(cell(0))], "auc")
