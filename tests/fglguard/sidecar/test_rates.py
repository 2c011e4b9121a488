"""Token buckets, by hand: 2 a second, so 2 at once, then one each half second."""

import pytest

from fglguard.sidecar.rates import Rates


def test_a_second_s_worth_then_the_rate():
    now = [0.0]
    rates = Rates(2.0, lambda: now[0])
    assert [rates.wait(0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rates.wait(1) == 0.0, "another key has its own"
    now[0] = 0.25
    assert rates.wait(0) == pytest.approx(0.25)
    now[0] = 0.5
    assert [rates.wait(0), rates.wait(0)] == [0.0, pytest.approx(0.5)]
    now[0] = 1000.0
    assert [rates.wait(0) for _ in range(3)] == [0.0, 0.0, 0.5], "no more than a second's worth"


def test_less_than_one_a_second():
    now = [0.0]
    rates = Rates(0.1, lambda: now[0])
    assert [rates.wait(0), rates.wait(0)] == [0.0, pytest.approx(10.0)]
    now[0] = 10.0
    assert rates.wait(0) == 0.0


def test_zero_is_no_limit():
    rates = Rates(0.0)
    assert {rates.wait(0) for _ in range(1000)} == {0.0}
