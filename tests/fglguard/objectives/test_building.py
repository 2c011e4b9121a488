import math

import numpy as np
import pytest

from fglguard.errors import SettingsError, StateError
from fglguard.objectives.building import ObjectiveSettings, build_objective
from fglguard.objectives.contrast import ModelContrast
from fglguard.objectives.control_variates import ControlVariates
from fglguard.objectives.distillation import EdgeDistillation
from fglguard.objectives.drift import DriftCorrection
from fglguard.objectives.objective import Objective

VECTOR = np.ones(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "received", "kept", "built"),
    [
        ("plain", (), (), Objective),
        ("scaffold", ("control",), ("control",), ControlVariates),
        ("feddc", ("control",), ("control", "drift"), DriftCorrection),
        ("moon", (), ("previous",), ModelContrast),
        ("fgssl", (), (), EdgeDistillation),
    ],
)
def test_each_kind_says_what_it_needs_and_is_built_with_and_without_state(
    kind, received, kept, built
):
    settings = ObjectiveSettings(kind=kind)
    assert (settings.received, settings.kept) == (received, kept)
    sent = dict.fromkeys(received, VECTOR)
    for state in ({}, dict.fromkeys(kept, VECTOR)):
        assert type(build_objective(settings, VECTOR, sent, state)) is built


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "sgd"}, "objective: expected one of plain, scaffold, feddc.*got 'sgd'"),
        ({"drift": -1.0}, "drift: expected at least 0"),
        ({"contrast": math.nan}, "contrast: expected at least 0"),
        ({"distillation": math.inf}, "distillation: expected at least 0"),
        ({"temperature": 0.0}, "temperature: expected above 0"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(SettingsError, match=message):
        ObjectiveSettings(**settings)


def test_state_of_another_strategy_or_detector_is_refused():
    settings = ObjectiveSettings(kind="feddc")
    sent = {"control": VECTOR}
    with pytest.raises(StateError, match="expected control, drift for feddc, got control"):
        build_objective(settings, VECTOR, sent, {"control": VECTOR})
    wrong = {"control": VECTOR, "drift": VECTOR[:2]}
    with pytest.raises(StateError, match="drift: expected 3 numbers, got 2"):
        build_objective(settings, VECTOR, sent, wrong)
