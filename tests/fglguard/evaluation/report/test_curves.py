import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.evaluation.metrics import auroc
from fglguard.evaluation.report.curves import BINS, MOST_POINTS, score_curves


def test_a_roc_curve_by_hand():
    """Scores .9 unsafe, .7 safe, .5 unsafe, .1 safe: each step catches one more of a class."""
    curves = score_curves([0.9, 0.7, 0.5, 0.1], [1, 0, 1, 0], ["d"] * 4)
    assert curves["domains"]["d"]["roc"] == {
        "fpr": [0, 0, 0.5, 0.5, 1],
        "recall": [0, 0.5, 0.5, 1, 1],
    }


def test_histograms_count_every_episode_once_on_common_edges():
    """.12 to .31 in steps of .05 outwards is .1 to .35; ten safe and two unsafe in two domains."""
    scores = [*np.linspace(0.12, 0.3, 10), 0.2, 0.31]
    curves = score_curves(scores, [0] * 10 + [1, 1], ["a"] * 11 + ["b"])
    edges = curves["edges"]
    assert (edges[0], edges[-1], len(edges)) == (0.1, 0.35, BINS + 1)
    assert sum(curves["domains"]["a"]["safe"]) == 10
    assert sum(curves["domains"]["a"]["unsafe"]) == 1
    assert sum(curves["domains"]["b"]["unsafe"]) == 1


def test_a_domain_of_one_class_has_no_roc():
    assert score_curves([0.1, 0.2], [0, 0], ["d", "d"])["domains"]["d"]["roc"] is None


def test_equal_scores_and_no_scores_have_edges_too():
    assert score_curves([0.5], [1], ["d"])["edges"][::BINS] == [0.45, 0.55]
    assert score_curves([], [], [])["edges"][::BINS] == [0, 1]


def test_unlabelled_episodes_are_left_out():
    curves = score_curves([0.5, 0.6], [-1, 1], ["x", "d"])
    assert list(curves["domains"]) == ["d"]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=60))
def test_the_area_under_the_curve_is_the_auroc(pairs):
    """Trapezoids over the kept points, against the pairwise definition of AUROC."""
    scores = [score / 20 for score, _ in pairs]
    labels = [int(unsafe) for _, unsafe in pairs]
    roc = score_curves(scores, labels, ["d"] * len(pairs))["domains"]["d"]["roc"]
    expected = auroc(scores, labels)
    if expected is None:
        assert roc is None
    else:
        # Points are rounded to five digits.
        assert np.trapezoid(roc["recall"], roc["fpr"]) == pytest.approx(expected, abs=1e-4)


def test_a_long_curve_is_thinned_but_keeps_its_ends():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 5000)
    roc = score_curves(rng.random(5000), labels, ["d"] * 5000)["domains"]["d"]["roc"]
    assert len(roc["fpr"]) == MOST_POINTS
    assert (roc["fpr"][0], roc["recall"][0], roc["fpr"][-1], roc["recall"][-1]) == (0, 0, 1, 1)
