"""What a train message asks of a client, read from its config record and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fglguard.errors import SettingsError
from fglguard.objectives.building import ObjectiveSettings
from fglguard.training import TrainingSettings

Value = TypeVar("Value", bool, int, float, str)


@dataclass(frozen=True)
class Instructions:
    """One round's orders.

    Attributes:
        seed: The run's seed.
        round: Counted from 1.
        index: The client's place in the roster.
        since: The last round in which the server used this client's update; 0: none yet.
        run_folder: The run's folder at the server.
        training: How to train.
        objective: What to minimise besides BCE.
        pooled: Train on all clients' episodes together instead of one's own.
    """

    seed: int
    round: int
    index: int
    since: int
    run_folder: str
    training: TrainingSettings
    objective: ObjectiveSettings
    pooled: bool


def read_instructions(config: Mapping[str, Any]) -> Instructions:
    """Read a train message's config record.

    Raises:
        SettingsError: A value is missing, of another type or out of range; the text names it.
    """
    return Instructions(
        seed=_read(config, "seed", int),
        round=_read(config, "round", int),
        index=_read(config, "index", int),
        since=_read(config, "since", int, 0),
        run_folder=_read(config, "run_folder", str, ""),
        training=TrainingSettings(
            epochs=_read(config, "epochs", int),
            steps=_read(config, "steps", int, 0),
            batch_size=_read(config, "batch_size", int),
            learning_rate=_read(config, "learning_rate", float),
            optimizer=_read(config, "optimizer", str),
            weight_decay=_read(config, "weight_decay", float),
            proximal_mu=_read(config, "mu", float),
        ),
        objective=ObjectiveSettings(
            kind=_read(config, "objective", str, "plain"),
            drift=_read(config, "drift", float, 0.0),
            contrast=_read(config, "contrast", float, 0.0),
            distillation=_read(config, "distillation", float, 0.0),
            temperature=_read(config, "temperature", float, 1.0),
        ),
        pooled=_read(config, "pooled", bool, False),
    )


def _read(
    config: Mapping[str, Any], key: str, kind: type[Value], default: Value | None = None
) -> Value:
    value = config.get(key, default)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        got = "nothing" if value is None else repr(value)
        raise SettingsError(f"train message: {key}: expected {kind.__name__}, got {got}")
    return value
