import polars as pl

from scripts.collecting.axes import swept_axes


def frame(**columns):
    length = max(len(values) for values in columns.values())
    defaults = {"strategy": ["fedavg"], "partition": ["iid"], "clients": [4], "seed": [0]}
    return pl.DataFrame(
        {name: v if len(v) == length else v * length for name, v in (defaults | columns).items()}
    )


def names(axes):
    return [axis.name for axis in axes]


def test_the_seed_and_the_strategy_are_no_axes():
    runs = frame(strategy=["a", "a", "b", "b"], seed=[0, 1, 0, 1])
    assert swept_axes(runs, []) == []


def test_what_a_strategy_sets_besides_is_no_axis():
    runs = frame(strategy=["fedavg", "fedprox"], **{"strategy.mu": [0.0, 0.01]})
    assert swept_axes(runs, ["strategy.mu"]) == []


def test_what_varies_within_a_strategy_is_one():
    runs = frame(strategy=["fedavg", "fedprox", "fedprox"], **{"strategy.mu": [0.0, 0.01, 1.0]})
    (axis,) = swept_axes(runs, ["strategy.mu"])
    assert axis.values == (0.0, 0.01, 1.0)
    assert axis.even


def test_an_axis_that_follows_another_is_not_told_twice():
    runs = frame(clients=[4, 8, 4, 8], **{"federation.minimum_clients": [2, 4, 2, 4]})
    assert names(swept_axes(runs, ["federation.minimum_clients"])) == ["clients"]


def test_numbers_come_before_texts():
    runs = frame(
        clients=[4, 8, 4, 8],
        partition=["iid", "iid", "domain", "domain"],
        **{"partition.within_domains": [False, False, True, True]},
    )
    assert names(swept_axes(runs, ["partition.within_domains"])) == ["clients", "partition"]


def test_numbers_of_one_magnitude_stand_where_they_are():
    (purity,) = swept_axes(frame(**{"partition.purity": [0.5, 0.8, 1.0]}), ["partition.purity"])
    (clients,) = swept_axes(frame(clients=[4, 8, 16, 32]), [])
    assert not purity.even
    assert clients.even
