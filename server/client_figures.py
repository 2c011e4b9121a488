"""What a run says of each client, and how evenly its figures are spread over them."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fglguard.evaluation.fairness import fairness
from fglguard.evaluation.metrics import auroc
from server.scores import ScoreTable
from strategies.cohort import Cohort


def client_figures(
    cohort: Cohort, sizes: Mapping[str, Mapping[str, int]], test: ScoreTable, metrics: Path
) -> dict[str, dict[str, Any]]:
    """A record a site: domain, split sizes, last training loss, raw AUROC of its own test rows.

    Args:
        cohort: Who took part.
        sizes: Split sizes that each site reported.
        test: Scores of the test split, every site's.
        metrics: The run's `metrics.jsonl`.

    Returns:
        By site. `loss` is None for a client that never trained; `auroc` is None where its test
        rows lack a class, and `undefined` says which then.
    """
    losses = _last_losses(metrics)
    return {
        member.site: {
            "domain": member.domain,
            **sizes[member.site],
            "loss": losses.get(member.site),
            **_auroc(test, member.site, sizes[member.site]["test_graphs"]),
        }
        for _, member in cohort
    }


def client_fairness(clients: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The spread of the clients' AUROC (`fglguard.evaluation.fairness`)."""
    return asdict(fairness({site: figures["auroc"] for site, figures in clients.items()}))


def _auroc(test: ScoreTable, site: str, held: int) -> dict[str, Any]:
    rows = test.site == site
    if not rows.any() and held:
        return {"auroc": None, "undefined": "never trained"}
    label = test.label[rows]
    absent = [name for code, name in ((1, "unsafe"), (0, "safe")) if not np.any(label == code)]
    if absent:
        return {"auroc": None, "undefined": f"no {' and no '.join(absent)} test episodes"}
    return {"auroc": auroc(test.raw[rows], label), "undefined": None}


def _last_losses(metrics: Path) -> dict[str, float]:
    # From the file, not from memory: a run that was resumed has trained before this process began.
    losses: dict[str, float] = {}
    with metrics.open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["kind"] == "train" and "loss" in record:
                losses[record["site"]] = record["loss"]
    return losses
