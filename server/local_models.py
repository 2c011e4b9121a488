"""The local arm: each client's own model, on its own domain and on every other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fglguard.calibration import Calibrations
from fglguard.partitions import MIXED_DOMAIN
from fglguard.settings import RunSettings
from server.assessment import Assessment, warn_of
from server.calibration_record import many_calibrations_record
from server.evaluation import evaluate_domains
from server.scores import ScoreTable, pool
from server.scoring import Scorer
from strategies.cohort import Cohort, Member
from strategies.updates import FlatVector

FIGURES = ("auroc_raw", "auroc_corroborated", "recall", "false_positive_rate", "over_refusal")
NO_INTERVAL = "a mean over clients' own models has no interval"
Evaluation = Mapping[str, Any]


def assess_local_models(
    models: Mapping[str, FlatVector], scorer: Scorer, cohort: Cohort, settings: RunSettings
) -> Assessment:
    """Calibrate each model on its own client's validation split; test it on every domain.

    A domain's figure is the mean over the models of that domain's clients, each on all of the
    domain's test episodes, so that it stands beside a federated model's figure on the same
    episodes; a mixed client counts in every domain. A model whose client has no safe validation
    episode has no threshold, so no guard, and counts in AUROC alone. `local` holds what each model
    reaches on each domain, and the means of AUROC within the models' own domains and outside them.
    """
    members = [member for _, member in cohort if member.site in models]
    calibrations: dict[str, Calibrations] = {}
    evaluations: dict[str, Evaluation] = {}
    own_scores: list[ScoreTable] = []
    for member in members:
        model, site = models[member.site], member.site
        own = scorer.calibration(model).of_site(site)
        calibrations[site] = own.calibrate(settings.calibration)
        warn_of(calibrations[site], f"the guard of site {site}")
        test = scorer.test(model)
        evaluations[site] = evaluate_domains(test, calibrations[site], settings)
        own_scores.append(test.of_site(site))
    return Assessment(
        guards={site: (models[site], c) for site, c in calibrations.items() if c.pooled},
        calibration=many_calibrations_record(list(calibrations.values()), settings.calibration),
        test=_means(members, evaluations),
        scores=pool(own_scores, shared_groups=True),
        local=_within_and_outside(members, evaluations),
    )


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
        reason = (
            NO_INTERVAL
            if values
            else "no client of this domain has a model, a threshold or both classes"
        )
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
