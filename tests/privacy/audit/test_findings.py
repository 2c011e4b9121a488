import pytest

from privacy.audit.findings import BEST, Figure, Trial, average, compared, means


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


def test_standard_error_of_the_difference_batch_by_batch():
    """a: .9 and .7; on noise .5, .5 and .3, .5 in two draws, so .4 and .5: differences .5 and .2.

    Their standard deviation is .3 / sqrt 2, the standard error .15; the mean difference .35.
    """
    scored = [Trial({"a": {"auc": 0.9}}), Trial({"a": {"auc": 0.7}})]
    nulls = [
        [Trial({"a": {"auc": 0.5}}), Trial({"a": {"auc": 0.5}})],
        [Trial({"a": {"auc": 0.3}}), Trial({"a": {"auc": 0.5}})],
    ]
    figure = compared(scored, nulls, {"a": {"auc": 1.0}})["a"]["auc"]
    assert figure.over_null == pytest.approx(0.35)
    assert figure.error == pytest.approx(0.15)
    assert figure.undefended == 1.0


def test_the_best_is_compared_with_the_best_on_noise():
    """Best: a, 1 and .8. On noise: b, .6 and .6. Differences .4 and .2, standard error .1."""
    scored = [
        Trial({"a": {"auc": 1.0}, "b": {"auc": 0.1}}),
        Trial({"a": {"auc": 0.8}, "b": {"auc": 0.9}}),
    ]
    nulls = [[Trial({"a": {"auc": 0.5}, "b": {"auc": 0.6}})] * 2]
    figure = compared(scored, nulls, {})[BEST]["auc"]
    assert figure.over_null == pytest.approx(0.3)
    assert figure.error == pytest.approx(0.1)


def test_one_batch_has_no_standard_error():
    assert compared([Trial({"a": {"auc": 0.9}})], [], {})["a"]["auc"] == Figure(0.9)
