import math

import pytest

from scripts.collecting.intervals import mean_over_seeds


def test_two_seeds_by_hand():
    """s = |a - b| / sqrt(2), so half = t s / sqrt(2) = t |a - b| / 2; t(0.975, 1) = 12.7062."""
    found = mean_over_seeds([0.7, 0.8])
    assert found.mean == pytest.approx(0.75)
    assert found.half == pytest.approx(12.7062 * 0.05, rel=1e-4)


def test_five_seeds_by_hand():
    """1..5: mean 3, s = sqrt(10 / 4), half = t(0.975, 4) s / sqrt(5), t = 2.77645."""
    found = mean_over_seeds([1, 2, 3, 4, 5])
    assert found.half == pytest.approx(2.77645 * math.sqrt(2.5) / math.sqrt(5), rel=1e-5)
    assert found.seeds == 5


def test_one_seed_has_no_interval_and_undefined_ones_do_not_count():
    assert mean_over_seeds([None, 0.8]).half is None
    assert mean_over_seeds([None, 0.8]).seeds == 1
    assert mean_over_seeds([None]) is None
