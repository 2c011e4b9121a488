"""From settings and vectors to the local objective of one round at one client."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal, get_args

import numpy as np

from fglguard.errors import SettingsError, StateError
from fglguard.objectives.contrast import PREVIOUS, ModelContrast
from fglguard.objectives.control_variates import CONTROL, ControlVariates
from fglguard.objectives.distillation import EdgeDistillation
from fglguard.objectives.drift import DRIFT, DriftCorrection
from fglguard.objectives.objective import Objective
from fglguard.objectives.trainable import FlatVector

Kind = Literal["plain", "scaffold", "feddc", "moon", "fgssl"]

_OBJECTIVES: dict[Kind, type[Objective]] = {
    "plain": Objective,
    "scaffold": ControlVariates,
    "feddc": DriftCorrection,
    "moon": ModelContrast,
    "fgssl": EdgeDistillation,
}


@dataclass(frozen=True)
class ObjectiveSettings:
    """Which objective, and how strong it is.

    Attributes:
        kind: `plain` is BCE with the proximal term of `TrainingSettings`.
        drift: `feddc` only: alpha, the strength of the drift penalty.
        contrast: `moon` only: weight of the model-contrastive term.
        distillation: `fgssl` only: weight of the edge-distribution distillation term.
        temperature: `moon` and `fgssl`: T of the similarities.
    """

    kind: Kind = "plain"
    drift: float = 0.0
    contrast: float = 0.0
    distillation: float = 0.0
    temperature: float = 0.5

    def __post_init__(self) -> None:
        """Raise SettingsError for a value out of range."""
        if self.kind not in get_args(Kind):
            raise SettingsError(
                f"objective: expected one of {', '.join(get_args(Kind))}, got {self.kind!r}"
            )
        for name in ("drift", "contrast", "distillation"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise SettingsError(f"{name}: expected at least 0, got {value!r}")
        if not (isfinite(self.temperature) and self.temperature > 0):
            raise SettingsError(f"temperature: expected above 0, got {self.temperature!r}")

    @property
    def received(self) -> tuple[str, ...]:
        """Names of the vectors that the server must send beside the parameters."""
        return _OBJECTIVES[self.kind].received

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the vectors that the client keeps between rounds."""
        return _OBJECTIVES[self.kind].kept


def build_objective(
    settings: ObjectiveSettings,
    parameters: FlatVector,
    received: Mapping[str, FlatVector],
    kept: Mapping[str, FlatVector],
) -> Objective:
    """The objective that the settings name.

    Args:
        settings: Which.
        parameters: The global model, float32 [P].
        received: What the server sent beside it: `settings.received`, each [P].
        kept: What the client kept: `settings.kept`, each [P]; nothing in its first round.

    Raises:
        StateError: What the client kept has other names or another size than the objective wants.
    """
    if kept:
        _check_kept(settings, kept, len(parameters))
    zeros = np.zeros_like(parameters)
    match settings.kind:
        case "plain":
            return Objective()
        case "scaffold":
            return ControlVariates(received[CONTROL], kept.get(CONTROL, zeros))
        case "feddc":
            own, drift = kept.get(CONTROL, zeros), kept.get(DRIFT, zeros)
            return DriftCorrection(settings.drift, parameters, received[CONTROL], own, drift)
        case "moon":
            return ModelContrast(settings.contrast, settings.temperature, kept.get(PREVIOUS))
        case "fgssl":
            return EdgeDistillation(settings.distillation, settings.temperature)


def _check_kept(settings: ObjectiveSettings, kept: Mapping[str, FlatVector], size: int) -> None:
    if set(kept) != set(settings.kept):
        raise StateError(
            f"client state: expected {', '.join(settings.kept)} for {settings.kind}, got "
            f"{', '.join(sorted(kept))}; was the run's folder or name used by another run?"
        )
    for name, vector in kept.items():
        if vector.shape != (size,):
            raise StateError(
                f"client state: {name}: expected {size} numbers, got {vector.size}; was it kept "
                f"for another detector?"
            )
