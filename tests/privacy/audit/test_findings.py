import pytest

from privacy.audit.findings import BEST, Figure, Trial, average, means


def test_the_best_is_chosen_after_averaging_over_batches():
    """a: (.9 + .5) / 2 = .7; b: (.2 + .6) / 2 = .4. In neither batch alone is .7 the best."""
    trials = [
        Trial({"a": {"auc": 0.9}, "b": {"auc": 0.2}}),
        Trial({"a": {"auc": 0.5}, "b": {"auc": 0.6}}),
    ]
    table = means(trials)
    assert table["a"]["auc"] == pytest.approx(0.7)
    assert table["b"]["auc"] == pytest.approx(0.4)
    assert table[BEST]["auc"] == pytest.approx(0.7)


def test_an_attack_that_finds_nothing_to_look_at_guesses():
    """auc (1 + .5) / 2, recall (1 + 0) / 2."""
    table = means([Trial({"a": {"auc": 1.0, "recall": 1.0}}), Trial({"b": {"auc": 0.0}})])
    assert table["a"] == {"auc": 0.75, "recall": 0.5}


def test_average_of_tables():
    assert average([{"a": {"auc": 0.4}}, {"a": {"auc": 0.6}}]) == {"a": {"auc": 0.5}}


def test_over_null():
    assert Figure(0.8, null=0.5).over_null == pytest.approx(0.3)
    assert Figure(0.8).over_null == 0.8
