"""How many looks at the same data a round's exports give the server."""

import dataclasses

import numpy as np
import pytest

from client.masking import looks_of
from fglguard.objectives.control_variates import ControlVariates
from fglguard.objectives.drift import DriftCorrection
from fglguard.objectives.objective import Objective
from fglguard.settings import PrivacySettings

SETTINGS = PrivacySettings("aegis", "delta", "bbp", 1, 1.0, 1.0, 1.0, 16)
ZERO = np.zeros(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("objective", "vectors"),
    [
        (Objective(), 1),
        (ControlVariates(ZERO, ZERO), 2),
        (DriftCorrection(0.1, ZERO, ZERO, ZERO, ZERO), 2),
    ],
)
def test_a_change_is_one_look_and_a_control_variate_another(objective, vectors) -> None:
    """What FedDC exports of its drift follows from the parameters: no look of its own."""
    assert looks_of(SETTINGS, objective, steps=30) == vectors


def test_masked_gradients_give_a_look_a_step() -> None:
    settings = dataclasses.replace(SETTINGS, mode="gradient")
    assert looks_of(settings, Objective(), steps=30) == 30
    assert looks_of(settings, ControlVariates(ZERO, ZERO), steps=30) == 30
