"""What `results.json` says of a run's thresholds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fglguard.calibration import Calibration, Calibrations
from fglguard.settings import CalibrationSettings


def calibration_record(found: Calibrations, settings: CalibrationSettings) -> dict[str, Any]:
    """The pooled calibration's figures, how it was chosen, and each domain's.

    JSON has no infinity: a threshold that blocks nothing is null, and `reason` says why. Figures
    are null too where there was nothing to calibrate on. `domains` has, by name, a record of the
    domain's own calibration, or the `fallback`: why the pooled one is used.
    """
    figures = _figures(found.pooled) if found.pooled else _without(found.reason)
    own = {name: _figures(calibration) for name, calibration in found.domains.items()}
    fallbacks = {name: {"fallback": reason} for name, reason in found.fallbacks.items()}
    return figures | _settings(settings) | {"domains": dict(sorted({**own, **fallbacks}.items()))}


def many_calibrations_record(
    found: Sequence[Calibrations], settings: CalibrationSettings
) -> dict[str, Any]:
    """The same of a guard a client: no threshold in common, counts and rates together."""
    pooled = [one.pooled for one in found if one.pooled]
    benign = sum(c.benign for c in pooled)
    unsafe = sum(c.unsafe for c in pooled)
    caught = sum((c.recall or 0.0) * c.unsafe for c in pooled)
    refused = sum(c.false_positive_rate * c.benign for c in pooled)
    figures = _without("every client has its own threshold") | {
        "recall": caught / unsafe if unsafe else None,
        "false_positive_rate": refused / benign if benign else None,
        "benign": benign,
        "unsafe": unsafe,
    }
    return figures | _settings(settings) | {"domains": {}, "guards": len(pooled)}


def _figures(calibration: Calibration) -> dict[str, Any]:
    record = asdict(calibration)
    if math.isinf(calibration.threshold):
        record["threshold"] = None
    return record


def _without(reason: str | None) -> dict[str, Any]:
    return {
        "threshold": None,
        "objective": None,
        "recall": None,
        "false_positive_rate": None,
        "benign": 0,
        "unsafe": None,
        "benign_groups": None,
        "reason": reason,
    }


def _settings(settings: CalibrationSettings) -> Mapping[str, Any]:
    histogram = settings.scores == "histogram"
    return {
        "budget": settings.budget,
        "rule": settings.rule,
        "risk": settings.risk if settings.rule == "clopper_pearson" else None,
        "by": settings.by,
        "thresholds": settings.thresholds,
        "scores": settings.scores,
        "bins": settings.bins if histogram else None,
    }
