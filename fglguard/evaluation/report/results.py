"""The results table of a report."""

from collections.abc import Mapping
from typing import Any

from fglguard.evaluation.report.floors import MEAN, floor_label
from fglguard.evaluation.report.picture import Table, number

LABELS = {
    "auroc_raw": "AUROC raw",
    "auroc_corroborated": "AUROC corroborated",
    "auprc": "AUPRC",
    "recall_at_fpr": "recall at FPR ≤ budget",
    "calibration_error": "calibration error, raw score",
    "recall": "recall",
    "false_positive_rate": "FPR",
    "over_refusal": "over-refusal",
    "brier": "Brier, raw score",
}


def results_table(results: Mapping[str, Any]) -> Table:
    """A row a domain, one for all pooled, and the mean over domains."""
    test = results["test"]
    names = [name for name, value in test["pooled"].items() if isinstance(value, Mapping)]
    rows = [_row(domain, figures, names) for domain, figures in test["domains"].items()]
    rows.append(_row("pooled", test["pooled"], names))
    means = {"auroc_raw": number(test["mean_auroc_raw"])}
    rows.append([MEAN, "", *(means.get(name, "") for name in names)])
    return Table(["domain", "episodes (unsafe)", *(figure_label(name) for name in names)], rows)


def undefined_figures(results: Mapping[str, Any]) -> list[str]:
    """Why each figure that has no value, or no interval, has none."""
    figures = [
        f"{domain}, {figure_label(name)}: {estimate['reason']}"
        for domain, figures in results["test"]["domains"].items()
        for name, estimate in figures.items()
        if isinstance(estimate, Mapping) and estimate["value"] is None
    ]
    return figures + [
        f"{domain}, floor {floor_label(name)}: {reason}"
        for name, found in (results["floors"] or {}).items()
        # A run from before floors told their reasons has none.
        for domain, reason in found.get("reasons", {}).items()
    ]


def figure_label(name: str) -> str:
    """A figure's name for a person."""
    return LABELS.get(name, name.replace("_", " "))


def _row(name: str, figures: Mapping[str, Any], names: list[str]) -> list[str]:
    return [
        name,
        f"{figures['episodes']} ({figures['unsafe']})",
        *(interval(figures[figure]) for figure in names),
    ]


def interval(estimate: Mapping[str, Any]) -> str:
    """A figure with its 95 % interval where it has one."""
    if estimate["value"] is None or estimate["low"] is None:
        return number(estimate["value"])
    return f"{estimate['value']:.3f}\n[{estimate['low']:.2f}, {estimate['high']:.2f}]"
