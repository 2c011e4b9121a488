"""Rows of a run with thresholds of domains."""

from pathlib import Path

from scripts.collecting.run_folders import Run
from scripts.collecting.tidy import FIGURES, rows_of

ONE = {"value": 0.5, "low": None, "high": None}
FIGURES_OF = {**dict.fromkeys(FIGURES, ONE), "episodes": 4, "unsafe": 2}


def test_a_domains_row_has_the_threshold_that_decides_there():
    """Domain a has its own, b none that blocks anything, c the pooled one; so have the means."""
    results = {
        "test": {
            "domains": dict.fromkeys("abc", FIGURES_OF),
            "pooled": FIGURES_OF,
            "mean_auroc_raw": 0.5,
        },
        "floors": None,
        "seconds": {"total": 1.0},
        "calibration": {
            "threshold": 0.5,
            "domains": {"a": {"threshold": 0.7}, "b": {"threshold": None}, "c": {"fallback": "2"}},
        },
    }
    run = Run(Path("run"), "completed", {}, results, None)
    found = {row["domain"]: row["threshold"] for row in rows_of(run)}
    assert found == {"a": 0.7, "b": None, "c": 0.5, "pooled": 0.5, "mean": 0.5}
