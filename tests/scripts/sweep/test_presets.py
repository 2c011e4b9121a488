"""Each preset under conf/experiment composes to valid settings, at every point of its sweep."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from fglguard.settings import RunSettings
from scripts.configuration import flat_values

pytestmark = pytest.mark.long

CONF = Path(__file__).resolve().parents[3] / "conf"
POINTS = {
    "in_domain": 4 * 5,
    "cross_domain": 2 * 5,
    "purity": 2 * 6 * 5,
    "client_count": 2 * 4 * 5,
    "mu": 4 * 2 * 5,
    "arms": 4 * 5,
    "smoke": 1,
}


def composed(*overrides, hydra_too=False):
    with initialize_config_dir(str(CONF), version_base=None):
        return compose("config", list(overrides), return_hydra_config=hydra_too)


@pytest.mark.parametrize("name", POINTS)
def test_every_point_is_valid(name):
    params = composed(f"experiment={name}", hydra_too=True).hydra.sweeper.params or {}
    words = [f"{key}={value}" for key, value in params.items()]
    overrides = OverridesParser.create().parse_overrides(words)
    (points,) = BasicSweeper.split_arguments(overrides, None)
    assert len(points) == POINTS[name]
    # Every value of every axis once, not every combination: composing takes a while.
    axes = {one for point in points for one in point}
    for one in axes or {"seed=0"}:
        values, _ = flat_values(composed(f"experiment={name}", one))
        RunSettings.from_flat(values)


def test_the_papers_budget():
    values, _ = flat_values(composed("experiment=cross_domain"))
    wanted = {
        "federation.clients": 8,
        "federation.rounds": 40,
        "strategy.epochs": 2,
        "strategy.mu": 0.01,
        "strategy.balanced": True,
        "partition.kind": "domain",
    }
    assert {key: values[key] for key in wanted} == wanted
    values, _ = flat_values(composed("experiment=in_domain"))
    assert values["federation.clients"] == 4
