"""The local arm: each client's own model, on its own domain and on every other."""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fglguard.calibration import Calibration, calibrate
from fglguard.partitions import MIXED_DOMAIN
from fglguard.settings import RunSettings
from server.assessment import Assessment
from server.evaluation import evaluate_domains
from server.scores import ScoreTable, pool
from server.scoring import Score
from strategies.cohort import Cohort, Member
from strategies.updates import FlatVector

logger = logging.getLogger("fglguard")

FIGURES = ("auroc_raw", "auroc_corroborated", "recall", "false_positive_rate", "over_refusal")
NO_INTERVAL = "a mean over clients' own models has no interval"
Evaluation = Mapping[str, Any]


def assess_local_models(
    models: Mapping[str, FlatVector], score: Score, cohort: Cohort, settings: RunSettings
) -> Assessment:
    """Calibrate each model on its own client's validation split; test it on every domain.

    A domain's figure is the mean over the models of that domain's clients, each on all of the
    domain's test episodes, so that it stands beside a federated model's figure on the same
    episodes; a mixed client counts in every domain. `local` holds what each model reaches on each
    domain, and the means of AUROC within the models' own domains and outside them.
    """
    members = [member for _, member in cohort if member.site in models]
    calibrations: dict[str, Calibration] = {}
    evaluations: dict[str, Evaluation] = {}
    own_scores: list[ScoreTable] = []
    for member in members:
        model, site = models[member.site], member.site
        calibrations[site] = _calibrated(score(model, "val").of_site(site), site, settings)
        test = score(model, "test")
        threshold = calibrations[site].threshold
        evaluations[site] = evaluate_domains(test, threshold, settings.seed)
        own_scores.append(test.of_site(site))
    return Assessment(
        guards={site: (models[site], c) for site, c in calibrations.items() if c.benign},
        calibration=_summary(list(calibrations.values())),
        test=_means(members, evaluations),
        scores=pool(own_scores, shared_groups=True),
        local=_within_and_outside(members, evaluations),
    )


def _calibrated(own: ScoreTable, site: str, settings: RunSettings) -> Calibration:
    budget = settings.calibration.budget
    if np.any(own.label == 0):
        return calibrate(own.corroborated, own.label, budget)
    logger.warning("site %s: no safe validation episode: no guard of its own is kept", site)
    return Calibration(math.inf, budget, "max_recall", 0.0, 0.0, 0, len(own.label))


def _summary(calibrations: Sequence[Calibration]) -> dict[str, Any]:
    """What `results.json` says of many thresholds: none in common, counts and rates together."""
    benign = sum(c.benign for c in calibrations)
    unsafe = sum(c.unsafe for c in calibrations)
    caught = sum((c.recall or 0.0) * c.unsafe for c in calibrations)
    refused = sum(c.false_positive_rate * c.benign for c in calibrations)
    return {
        "threshold": None,
        "thresholds": len(calibrations),
        "budget": calibrations[0].budget,
        "rule": "max_recall",
        "recall": caught / unsafe if unsafe else None,
        "false_positive_rate": refused / benign if benign else 0.0,
        "benign": benign,
        "unsafe": unsafe,
    }


def _means(members: Sequence[Member], evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """The means over models, in the form of `server.evaluation.evaluate_domains`."""
    every = list(evaluations.values())
    domains = {
        domain: _mean(
            [evaluations[m.site]["domains"][domain] for m in members if _at_home(m, domain)]
        )
        for domain in every[0]["domains"]
    }
    defined = [
        f["auroc_raw"]["value"] for f in domains.values() if f["auroc_raw"]["value"] is not None
    ]
    return {
        "domains": domains,
        "pooled": _mean([evaluation["pooled"] for evaluation in every]),
        "mean_auroc_raw": float(np.mean(defined)) if defined else None,
    }


def _mean(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in FIGURES:
        values = [r[name]["value"] for r in records if r[name]["value"] is not None]
        value = float(np.mean(values)) if values else None
        reason = NO_INTERVAL if values else "no client of this domain has a model, or one class"
        figures[name] = {"value": value, "low": None, "high": None, "reason": reason}
    first = records[0] if records else {"episodes": 0, "unsafe": 0}
    return {**figures, "episodes": first["episodes"], "unsafe": first["unsafe"]}


def _within_and_outside(
    members: Sequence[Member], evaluations: Mapping[str, Evaluation]
) -> dict[str, Any]:
    matrix: dict[str, dict[str, float | None]] = {}
    within: list[float] = []
    outside: list[float] = []
    for member in members:
        domains = evaluations[member.site]["domains"]
        row = {domain: figures["auroc_raw"]["value"] for domain, figures in domains.items()}
        matrix[member.site] = row
        for domain, value in row.items():
            if value is not None:
                (within if _at_home(member, domain) else outside).append(value)
    return {
        "auroc_raw": matrix,
        "own_domain": float(np.mean(within)) if within else None,
        "other_domains": float(np.mean(outside)) if outside else None,
    }


def _at_home(member: Member, domain: str) -> bool:
    return member.domain in (domain, MIXED_DOMAIN)
