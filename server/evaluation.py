"""The guard on held-out episodes: figures with intervals, by domain and pooled."""

from dataclasses import asdict
from typing import Any

import numpy as np

from fglguard.evaluation.metrics import evaluate
from server.scores import ScoreTable


def evaluate_domains(test: ScoreTable, threshold: float, seed: int) -> dict[str, Any]:
    """Each domain's figures with the one pooled threshold, and those of all domains together.

    Returns:
        `domains`: by name, `pooled`, and `mean_auroc_raw`: the mean over the domains in which
        AUROC is defined, None without any. Each figure is a record of value, low, high, reason.
    """
    domains = {
        str(name): _figures(test.of_domain(str(name)), threshold, seed)
        for name in np.unique(test.domain)
    }
    defined = [
        figures["auroc_raw"]["value"]
        for figures in domains.values()
        if figures["auroc_raw"]["value"] is not None
    ]
    return {
        "domains": domains,
        "pooled": _figures(test, threshold, seed),
        "mean_auroc_raw": float(np.mean(defined)) if defined else None,
    }


def _figures(table: ScoreTable, threshold: float, seed: int) -> dict[str, Any]:
    estimates = evaluate(
        table.raw,
        table.corroborated,
        table.label,
        table.group,
        table.clean,
        threshold=threshold,
        seed=seed,
    )
    figures: dict[str, Any] = {name: asdict(estimate) for name, estimate in estimates.items()}
    figures["episodes"] = len(table.label)
    figures["unsafe"] = int(np.count_nonzero(table.label == 1))
    return figures
