import numpy as np
import pytest

from fglguard.evaluation.fairness import fairness


def test_an_even_ladder_in_closed_form():
    """Of 0, 1, ..., 10 the p-th percentile is p / 10, the mean 5, the variance (11^2 - 1) / 12."""
    summary = fairness({str(n): float(n) for n in range(11)})
    assert summary.deciles == pytest.approx(tuple(range(1, 10)))
    assert (summary.minimum, summary.maximum, summary.mean) == (0, 10, 5)
    assert summary.std == pytest.approx(np.sqrt(10))
    assert (summary.clients, summary.undefined) == (11, 0)


def test_deciles_lie_between_order_statistics():
    """Of two values a < b the p-th percentile is a + p (b - a) / 100."""
    summary = fairness({"a": 0.5, "b": 0.7})
    assert summary.deciles == pytest.approx([0.5 + p * 0.002 for p in range(10, 100, 10)])
    assert summary.std == pytest.approx(0.1)


def test_undefined_clients_are_counted_and_nothing_else():
    assert fairness({"a": 0.5, "b": None, "c": 0.9}) == fairness({"a": 0.5, "c": 0.9, "z": None})
    summary = fairness({"a": None})
    assert (summary.clients, summary.undefined, summary.mean, summary.deciles) == (0, 1, None, None)


def test_one_client_has_no_spread():
    summary = fairness({"a": 0.8})
    assert summary.std == 0
    assert summary.deciles == (0.8,) * 9


def test_nan_is_not_a_figure():
    with pytest.raises(ValueError, match="client b"):
        fairness({"a": 0.5, "b": float("nan")})
