import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed
from strategies import robust_aggregation
from strategies.robust_aggregation import (
    combine,
    coordinate_median,
    trimmed_count,
    trimmed_mean,
    warn_of_few,
)
from strategies.weighting import domain_balanced_weights, size_weights, weighted_sum

SETTINGS = RunSettings.from_flat(composed("detector=paper", "privacy=none")).strategy
MEDIAN = dataclasses.replace(SETTINGS, aggregation="median")
TRIMMED = dataclasses.replace(SETTINGS, aggregation="trimmed_mean", trim=0.25)

numbers = st.floats(-1e6, 1e6, width=32)
tables = st.integers(1, 9).flatmap(lambda k: arrays(np.float32, (k, 5), elements=numbers))
attacked = st.integers(3, 9).flatmap(lambda k: arrays(np.float32, (k, 5), elements=numbers))


@given(tables)
def test_the_median_is_numpys(table):
    expected = np.median(table.astype(np.float64), axis=0)
    assert np.array_equal(coordinate_median(list(table)), expected)


@given(tables, st.integers(0, 4))
def test_the_trimmed_mean_is_scipys(table, left_out):
    """scipy rounds the share down, so ask it for a share just above left_out / K."""
    clients = len(table)
    left_out = min(left_out, (clients - 1) // 2)
    share = (left_out + 0.5) / clients if left_out else 0.0
    expected = stats.trim_mean(table.astype(np.float64), share, axis=0)
    found = trimmed_mean(list(table), left_out)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_blocks_do_not_change_the_result(monkeypatch):
    table = np.random.default_rng(0).standard_normal((5, 1000)).astype(np.float32)
    whole = trimmed_mean(list(table), 1)
    # 5 clients in blocks of 7 coordinates, the last one of 6.
    monkeypatch.setattr(robust_aggregation, "BLOCK_NUMBERS", 39)
    assert np.array_equal(trimmed_mean(list(table), 1), whole)


@given(tables, st.randoms())
def test_order_does_not_matter(table, random):
    rows = list(table)
    shuffled = random.sample(rows, len(rows))
    assert np.array_equal(coordinate_median(rows), coordinate_median(shuffled))
    left_out = trimmed_count(len(rows), 0.25)
    there, back = trimmed_mean(rows, left_out), trimmed_mean(shuffled, left_out)
    assert there == pytest.approx(back, rel=1e-12, abs=1e-9)


@given(
    attacked, arrays(np.float32, 5, elements=st.floats(-(2.0**127), 2.0**127, width=32)), st.data()
)
def test_one_arbitrary_update_leaves_the_median_within_the_others_range(table, evil, data):
    """With K >= 3 the middle values have an honest value (or are one) on each side."""
    hostile = data.draw(st.integers(0, len(table) - 1))
    honest = np.delete(table, hostile, axis=0)
    table[hostile] = evil
    for left_out in ((len(table) - 1) // 2, 1):
        found = trimmed_mean(list(table), left_out)
        slack = 1e-9 * (1 + np.abs(found))
        assert np.all(found >= honest.min(axis=0) - slack)
        assert np.all(found <= honest.max(axis=0) + slack)


@given(
    st.integers(3, 9),
    arrays(np.float32, 5, elements=numbers),
    st.floats(-(2.0**127), 2.0**127, width=32),
)
def test_one_wrong_update_among_equal_ones_changes_nothing(clients, same, evil):
    table = np.tile(same, (clients, 1))
    table[0] = evil
    weights = size_weights([1] * clients)
    for settings in (MEDIAN, TRIMMED):
        assert np.array_equal(combine(list(table), weights, ["a"] * clients, settings), same)


@pytest.mark.parametrize(
    ("clients", "trim", "left_out"),
    # ceil(trim K), and no more than leaves one (odd) or two (even) in the middle.
    [
        (4, 0.2, 1),
        (5, 0.2, 1),
        (6, 0.2, 2),
        (15, 0.2, 3),
        (3, 0.2, 1),
        (2, 0.2, 0),
        (1, 0.49, 0),
        (9, 0.0, 0),
        (10, 0.49, 4),
    ],
)
def test_how_many_are_left_out(clients, trim, left_out):
    assert trimmed_count(clients, trim) == left_out


def test_two_domains_by_hand():
    """Domain a: 0, 1, 100 (median 1; sizes 10, 10, 20); b: 5, 7, 9 and 11 (median 8; sizes 10).

    Balanced: (1 + 8) / 2 = 4.5. By size, 40 nodes each: the same. With a's last client at 60 nodes,
    80 to 40: 2/3 x 1 + 1/3 x 8 = 10/3; balanced is 4.5 still.
    """
    values = [0, 1, 100, 5, 7, 9, 11]
    vectors = [np.full(3, value, dtype=np.float32) for value in values]
    domains = list("aaabbbb")
    for nodes, by_size in (
        ([10, 10, 20, 10, 10, 10, 10], 4.5),
        ([10, 10, 60, 10, 10, 10, 10], 10 / 3),
    ):
        balanced = combine(vectors, domain_balanced_weights(domains, nodes), domains, MEDIAN)
        assert balanced == pytest.approx([4.5] * 3)
        found = combine(vectors, size_weights(nodes), domains, MEDIAN)
        assert found == pytest.approx([by_size] * 3)
    # Trimmed by a quarter, rounded up to one value at each end: a: 1, b: (7 + 9) / 2 = 8.
    trimmed = combine(vectors, domain_balanced_weights(domains, nodes), domains, TRIMMED)
    assert trimmed == pytest.approx([4.5] * 3)


@given(tables, st.data())
def test_the_mean_is_the_weighted_sum_bit_for_bit(table, data):
    clients = len(table)
    nodes = data.draw(st.lists(st.integers(1, 999), min_size=clients, max_size=clients))
    domains = data.draw(st.lists(st.sampled_from("ab"), min_size=clients, max_size=clients))
    weights = domain_balanced_weights(domains, nodes)
    found = combine(list(table), weights, domains, SETTINGS)
    assert np.array_equal(found, weighted_sum(list(table), weights))


@given(tables)
def test_two_updates_a_domain_get_their_mean(table):
    pair = list(table[:2])
    domains = ["a"] * len(pair)
    weights = size_weights([1] * len(pair))
    for settings in (MEDIAN, TRIMMED):
        found = combine(pair, weights, domains, settings)
        assert np.array_equal(found, np.mean(pair, axis=0, dtype=np.float64).astype(np.float32))


def test_a_domain_of_two_is_warned_of_once(caplog):
    warned: set[str] = set()
    for _ in range(2):
        warn_of_few(["a", "a", "a", "b", "b"], MEDIAN, warned)
        warn_of_few(["a", "b"], SETTINGS, set())
    assert [record.message.split(":")[0] for record in caplog.records] == ["domain b"]
    assert "at least 3 updates" in caplog.text
