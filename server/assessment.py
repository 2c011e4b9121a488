"""From the last model to a threshold and figures on held-out episodes."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fglguard.calibration import Calibrations
from fglguard.settings import RunSettings
from server.calibration_record import calibration_record
from server.evaluation import evaluate_domains
from server.scores import ScoreTable
from server.scoring import Scorer
from strategies.updates import FlatVector

logger = logging.getLogger("fglguard")


@dataclass(frozen=True)
class Assessment:
    """How a run's guard, or its guards, came out.

    Attributes:
        guards: By site, or under "" for the one guard of all: parameters and thresholds. A model
            that could not be calibrated has no guard.
        calibration: How the threshold was chosen, for people and `results.json`.
        test: Figures on the test split, as `server.evaluation.evaluate_domains` gives them.
        scores: Test scores, each site's by the guard that it would use.
        local: Figures of the local arm alone, else None.
    """

    guards: Mapping[str, tuple[FlatVector, Calibrations]]
    calibration: Mapping[str, Any]
    test: Mapping[str, Any]
    scores: ScoreTable
    local: Mapping[str, Any] | None = None


def assess_global_model(
    parameters: FlatVector, scorer: Scorer, settings: RunSettings
) -> Assessment:
    """Calibrate on all validation splits, together and by domain; test on each domain."""
    found = scorer.calibration(parameters).calibrate(settings.calibration)
    warn_of(found, "the guard")
    test = scorer.test(parameters)
    return Assessment(
        guards={"": (parameters, found)} if found.pooled else {},
        calibration=calibration_record(found, settings.calibration),
        test=evaluate_domains(test, found, settings),
        scores=test,
    )


def warn_of(found: Calibrations, whose: str) -> None:
    """Say loudly where a guard blocks nothing, or can't be had."""
    if found.pooled is None:
        logger.warning("%s has no threshold and is not written: %s", whose, found.reason)
        return
    for name, calibration in (("", found.pooled), *found.domains.items()):
        if calibration.blocks_nothing:
            where = f" in domain {name}" if name else ""
            logger.warning("%s BLOCKS NOTHING%s: %s", whose, where, calibration.reason)
