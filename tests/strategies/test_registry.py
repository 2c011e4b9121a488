"""Every strategy over the real grid: same seed, same bits; and choices by name."""

import dataclasses

import pytest

from fglguard.errors import SettingsError
from strategies.registry import STRATEGIES, build_strategy

STRENGTHS = {
    "strategy__drift": 0.1,
    "strategy__contrast": 1.0,
    "strategy__distillation": 1.0,
    "strategy__batch_size": 8,
    "strategy__epochs": 1,
    "strategy__optimizer": "adam",
    "strategy__learning_rate": 1e-3,
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(federation, name):
    models = []
    for folder, seed in (("one", 0), ("two", 0), ("three", 1)):
        ours = federation(name, folder, seed=seed, **STRENGTHS)
        for number in (1, 2, 3):
            ours.round(number)
        models.append(ours.model.tobytes())
    assert models[0] == models[1]
    assert models[0] != models[2]


def test_every_strategy_trains_in_its_own_way(federation):
    models = set()
    for name in STRATEGIES:
        ours = federation(name, name, strategy__mu=10.0, **STRENGTHS)
        for number in (1, 2):
            ours.round(number)
        models.add(ours.model.tobytes())
    assert len(models) == len(STRATEGIES)


def test_an_unknown_strategy_is_refused_with_the_choices(federation):
    ours = federation("fedavg")
    named = dataclasses.replace(ours.settings.strategy, name="krum")
    settings = dataclasses.replace(ours.settings, strategy=named)
    with pytest.raises(SettingsError, match=r"expected one of fedavg, .*fgssl.* got 'krum'"):
        build_strategy(ours.strategy.cohort, settings, ours.observer)
