"""From the last model to a threshold and figures on held-out episodes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fglguard.calibration import Calibration, calibrate
from fglguard.settings import RunSettings
from server.evaluation import evaluate_domains
from server.scores import ScoreTable
from server.scoring import Score
from strategies.updates import FlatVector


@dataclass(frozen=True)
class Assessment:
    """How a run's guard, or its guards, came out.

    Attributes:
        guards: By site, or under "" for the one guard of all: parameters and calibration.
        calibration: How the threshold was chosen, for people and `results.json`.
        test: Figures on the test split, as `server.evaluation.evaluate_domains` gives them.
        scores: Test scores, each site's by the guard that it would use.
        local: Figures of the local arm alone, else None.
    """

    guards: Mapping[str, tuple[FlatVector, Calibration]]
    calibration: Mapping[str, Any]
    test: Mapping[str, Any]
    scores: ScoreTable
    local: Mapping[str, Any] | None = None


def assess_global_model(parameters: FlatVector, score: Score, settings: RunSettings) -> Assessment:
    """Calibrate one threshold on all validation splits together; test on each domain."""
    validation = score(parameters, "val")
    calibration = calibrate(validation.corroborated, validation.label, settings.calibration.budget)
    test = score(parameters, "test")
    return Assessment(
        guards={"": (parameters, calibration)},
        calibration=calibration_record(calibration),
        test=evaluate_domains(test, calibration.threshold, settings.seed),
        scores=test,
    )


def calibration_record(calibration: Calibration) -> dict[str, Any]:
    """A calibration as JSON can hold it: a threshold that blocks nothing is null."""
    record = asdict(calibration)
    if calibration.threshold == float("inf"):
        record["threshold"] = None
    return record
