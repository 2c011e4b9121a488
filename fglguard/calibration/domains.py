"""A pooled threshold, and thresholds of domains that have enough benign episodes for their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fglguard.calibration.calibration import Calibration
from fglguard.calibration.histogram import ScoreHistogram, calibrate_histogram
from fglguard.calibration.pairs import calibrate
from fglguard.calibration.reference import ReferenceHistogram
from fglguard.calibration.rules import needed_units
from fglguard.settings import CalibrationSettings

Data = TypeVar("Data")


@dataclass(frozen=True)
class Calibrations:
    """The thresholds of one guard.

    Attributes:
        pooled: On all domains together; None where there was no benign episode to bound it.
        domains: By name, of the domains that have their own.
        fallbacks: By name, why each other domain uses the pooled one; empty unless thresholds are
            chosen by domain.
        reason: Why there is no pooled threshold; None where there is one.
        reference: What the pooled one was chosen on, in coarse bins; None without a pooled one, or
            where the bins of a histogram can't be merged into coarser ones.
    """

    pooled: Calibration | None
    domains: Mapping[str, Calibration] = field(default_factory=dict)
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    reference: ReferenceHistogram | None = None

    def of(self, domain: str) -> Calibration | None:
        """A domain's own calibration, else the pooled one."""
        return self.domains.get(domain, self.pooled)


def calibrate_pairs(
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    domains: NDArray[np.str_],
    groups: NDArray[np.int64],
    settings: CalibrationSettings,
) -> Calibrations:
    """Calibrate on score-label pairs, as `calibrate` does.

    Args:
        scores: Corroborated scores [n].
        labels: 1 unsafe, 0 benign [n].
        domains: Names [n].
        groups: Task groups [n].
        settings: Rule, budget and the rest.

    Raises:
        CalibrationError: A score is NaN or outside [0, 1], or a label another.
    """
    by_group = settings.by == "group"

    def one(rows: NDArray[np.bool_]) -> Calibration:
        return calibrate(
            scores[rows],
            labels[rows],
            settings.budget,
            rule=settings.rule,
            risk=settings.risk,
            groups=groups[rows] if by_group else None,
        )

    def units(rows: NDArray[np.bool_]) -> int:
        benign = rows & (labels == 0)
        return len(np.unique(groups[benign])) if by_group else int(benign.sum())

    parts = {str(name): domains == name for name in np.unique(domains)}
    found = _calibrations(np.ones(len(scores), np.bool_), parts, units, one, settings)
    if found.pooled is None:
        return found
    return replace(found, reference=ReferenceHistogram.of(scores, labels))


def calibrate_histograms(
    histograms: Mapping[str, ScoreHistogram], settings: CalibrationSettings
) -> Calibrations:
    """Calibrate on each domain's counts, as `calibrate_histogram` does.

    Args:
        histograms: By domain, of corroborated scores; at least one, all of the same bins.
        settings: Rule, budget and the rest.
    """

    def one(histogram: ScoreHistogram) -> Calibration:
        return calibrate_histogram(
            histogram, settings.budget, rule=settings.rule, risk=settings.risk
        )

    def units(histogram: ScoreHistogram) -> int:
        return int(histogram.benign.sum())

    whole = reduce(add, histograms.values())
    found = _calibrations(whole, histograms, units, one, settings)
    if found.pooled is None:
        return found
    return replace(found, reference=ReferenceHistogram.merged(whole))


def _calibrations(
    whole: Data,
    parts: Mapping[str, Data],
    units: Callable[[Data], int],
    calibrate_one: Callable[[Data], Calibration],
    settings: CalibrationSettings,
) -> Calibrations:
    if not units(whole):
        return Calibrations(None, reason="there is no safe calibration episode to bound it")
    pooled = calibrate_one(whole)
    if settings.thresholds == "pooled":
        return Calibrations(pooled)
    own: dict[str, Calibration] = {}
    fallbacks: dict[str, str] = {}
    for name, part in parts.items():
        lacking = _lacking(units(part), settings)
        if lacking:
            fallbacks[name] = lacking
        else:
            own[name] = calibrate_one(part)
    return Calibrations(pooled, own, fallbacks)


def _lacking(units: int, settings: CalibrationSettings) -> str | None:
    """Why a domain has too few benign units for a threshold of its own; None if it has enough."""
    unit = "task groups with a safe episode" if settings.by == "group" else "safe episodes"
    if units < settings.minimum_benign:
        return f"{units} {unit}, expected at least {settings.minimum_benign}"
    needed = needed_units(settings.rule, settings.budget, settings.risk, settings.by)
    if needed is None:
        return f"no number of {unit} meets a budget of {settings.budget:g} by {settings.rule}"
    if units < needed:
        return f"{units} {unit}, a budget of {settings.budget:g} needs {needed} by {settings.rule}"
    return None
