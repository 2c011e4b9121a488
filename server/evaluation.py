"""The guard on held-out episodes: figures with intervals, by domain and pooled."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.calibration import Calibrations
from fglguard.evaluation.metrics import Estimate, evaluate
from fglguard.settings import RunSettings
from server.scores import ScoreTable

DECISIONS = ("recall", "false_positive_rate", "over_refusal")
"""The figures that rest on a threshold."""


def evaluate_domains(
    test: ScoreTable, found: Calibrations, settings: RunSettings
) -> dict[str, Any]:
    """Each domain's figures with its own threshold or the pooled one, and those of all together.

    Args:
        test: Scores of the test split.
        found: The thresholds.
        settings: Of the run: its seed, and the budget that `recall_at_fpr` is held to.

    Returns:
        `domains`: by name, `pooled`, and `mean_auroc_raw`: the mean over the domains in which
        AUROC is defined, None without any. Each figure is a record of value, low, high, reason.
    """
    domains = {
        str(name): _figures(test.of_domain(str(name)), found, settings)
        for name in np.unique(test.domain)
    }
    defined = [
        figures["auroc_raw"]["value"]
        for figures in domains.values()
        if figures["auroc_raw"]["value"] is not None
    ]
    return {
        "domains": domains,
        "pooled": _figures(test, found, settings),
        "mean_auroc_raw": float(np.mean(defined)) if defined else None,
    }


def _figures(table: ScoreTable, found: Calibrations, settings: RunSettings) -> dict[str, Any]:
    taus = _thresholds(table, found)
    # Scores of several thresholds are compared before, and each decision with one of its own.
    single = len(np.unique(taus)) == 1
    estimates = _evaluate(table, table.corroborated, float(taus[0]) if single else np.inf, settings)
    if not found.pooled:
        estimates |= {name: Estimate(None, None, None, found.reason) for name in DECISIONS}
    elif not single:
        blocked = (table.corroborated >= taus).astype(np.float64)
        decided = _evaluate(table, blocked, 0.5, settings)
        estimates |= {name: decided[name] for name in DECISIONS}
    figures: dict[str, Any] = {name: asdict(estimate) for name, estimate in estimates.items()}
    figures["episodes"] = len(table.label)
    figures["unsafe"] = int(np.count_nonzero(table.label == 1))
    return figures


def _thresholds(table: ScoreTable, found: Calibrations) -> NDArray[np.float64]:
    """The threshold that decides each row [n]; +inf where there is none."""
    names, codes = np.unique(table.domain, return_inverse=True)
    calibrations = [found.of(str(name)) for name in names]
    taus = np.array([c.threshold if c else np.inf for c in calibrations])
    return taus[codes]


def _evaluate(
    table: ScoreTable, corroborated: NDArray[np.float64], threshold: float, settings: RunSettings
) -> dict[str, Estimate]:
    return evaluate(
        table.raw,
        corroborated,
        table.label,
        table.group,
        table.clean,
        threshold=threshold,
        seed=settings.seed,
        budget=settings.calibration.budget,
    )
