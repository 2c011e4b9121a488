import math

import pytest

from fglguard.errors import SettingsError
from fglguard.settings import RunSettings, flatten, values_of
from scripts.generate_flower_config import composed


def test_flat_and_back():
    assert values_of(RunSettings.from_flat(composed())) == composed()


def test_flatten_joins_keys_with_dots():
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3}) == {"a.b": 1, "a.c.d": 2, "e": 3}


@pytest.mark.parametrize("key", sorted(composed()))
def test_every_key_refuses_a_value_of_another_type_by_name(key):
    with pytest.raises(SettingsError, match=f"^{key}: expected"):
        RunSettings.from_flat(composed() | {key: [1, 2]})


@pytest.mark.parametrize("key", sorted(composed()))
def test_every_key_is_needed(key):
    values = composed()
    del values[key]
    with pytest.raises(SettingsError, match=f"^{key}: this setting is missing"):
        RunSettings.from_flat(values)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("federation.rounds", 0),
        ("federation.rounds", True),
        ("federation.rounds", 2.0),
        ("federation.timeout", 0.0),
        ("strategy.mu", -0.1),
        ("strategy.mu", math.nan),
        ("strategy.learning_rate", math.inf),
        ("calibration.budget", 1.5),
        ("strategy.name", "FedProx"),
        ("federation.minimum_clients", 9),
        ("seed", -1),
        ("detector.encoder_rank", 385),
    ],
)
def test_values_out_of_range_are_refused_by_name(key, value):
    with pytest.raises(SettingsError, match=f"^{key}: expected"):
        RunSettings.from_flat(composed() | {key: value})


def test_a_misspelt_key_gets_a_suggestion():
    with pytest.raises(SettingsError, match=r"strategy\.learning_rat: unknown.*learning_rate"):
        RunSettings.from_flat(composed() | {"strategy.learning_rat": 1.0})


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"strategy.name": "pooled", "federation.fraction": 0.5}, "federation.fraction"),
        ({"faults.crash_round": 1, "faults.crash_client": 8}, "faults.crash_client"),
        ({"calibration.scores": "histogram", "calibration.by": "group"}, "calibration.by"),
    ],
)
def test_values_that_do_not_go_together_are_refused_by_name(changes, key):
    with pytest.raises(SettingsError, match=f"^{key}: expected"):
        RunSettings.from_flat(composed() | changes)


OPTIONS = ("edge_feature", "node_feature", "self_loops", "residual", "labels")


@pytest.mark.parametrize("key", OPTIONS)
def test_presets_without_attention_refuse_its_options(key):
    """A setting that would be ignored, or that only fails once all rounds are done, is refused."""
    fitting = {"detector.preset": "small", "detector.labels": "final"}
    other = {
        "edge_feature": "message",
        "node_feature": "last",
        "self_loops": False,
        "residual": True,
        "labels": "broadcast",
    }
    assert RunSettings.from_flat(composed() | fitting).detector.preset == "small"
    with pytest.raises(SettingsError, match=f"detector.{key}: expected"):
        RunSettings.from_flat(composed() | fitting | {f"detector.{key}": other[key]})


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"corpus.encoder": "hashed-words"}, "corpus.encoder"),
        ({"detector.preset": "small", "detector.labels": "final"}, "detector.preset"),
        ({"detector.node_feature": "last"}, "detector.node_feature"),
        ({"detector.edge_feature": "message"}, "detector.edge_feature"),
    ],
)
def test_an_encoder_that_trains_refuses_what_it_has_no_tokens_for(changes, key):
    fitting = composed("detector=finetune")
    settings = RunSettings.from_flat(fitting)
    assert (settings.detector.encoder, settings.strategy.batch_size) == ("finetune", 16)
    with pytest.raises(SettingsError, match=f"^{key}: expected"):
        RunSettings.from_flat(fitting | changes)


def test_fedsgd_is_one_step_of_averaging_a_round():
    strategy = RunSettings.from_flat(composed("strategy=fedsgd", "detector=paper")).strategy
    assert (strategy.name, strategy.steps, strategy.optimizer) == ("fedavg", 1, "sgd")
