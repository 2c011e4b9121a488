"""Text floors beside the guard: what pooled text and a linear classifier reach.

A federation can't have these, since they need every site's text in one place; a simulation can,
and a guard that does not beat them is not worth deploying.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.episode import Episode
from fglguard.evaluation.metrics import auroc, missing
from fglguard.settings import RunSettings


def floor_aurocs(settings: RunSettings) -> dict[str, Any]:
    """AUROC of each floor on each domain's test split, trained on all training splits pooled.

    Returns:
        By floor: `domains` (AUROC by domain, None where the floor can't be fitted or the domain has
        one class), `reasons` (by domain, why it is None), `mean` over the domains that have one,
        and `reason` (why there is no mean; else None).
    """
    # Here: scikit-learn takes a second to import, which would delay the first round.
    from fglguard.baselines.floors import floors

    train, test = _labelled(settings, "train"), _labelled(settings, "test")
    labels = np.array([episode.unsafe for episode in test], dtype=np.int64)
    domain = np.array([episode.domain for episode in test], dtype=np.str_)
    return {
        name: _figures(found.decision, found.reason, labels, domain)
        for name, found in floors(train, test, settings.seed).items()
    }


def _figures(
    scores: NDArray[np.float64] | None,
    unfit: str | None,
    labels: NDArray[np.int64],
    domain: NDArray[np.str_],
) -> dict[str, Any]:
    aurocs: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for name in np.unique(domain).tolist():
        inside = domain == name
        why = unfit or missing({"unsafe": labels[inside] == 1, "safe": labels[inside] == 0})
        aurocs[name] = None if why or scores is None else auroc(scores[inside], labels[inside])
        if why:
            reasons[name] = why
    defined = [value for value in aurocs.values() if value is not None]
    told = "; ".join(dict.fromkeys(reasons.values())) or "no labelled test episodes"
    return {
        "domains": aurocs,
        "reasons": reasons,
        "mean": float(np.mean(defined)) if defined else None,
        "reason": None if defined else unfit or told,
    }


def _labelled(settings: RunSettings, split: str) -> list[Episode]:
    episodes: list[Episode] = []
    for silo in open_corpus(settings.corpus):
        rows = np.flatnonzero((silo.split == SPLITS.index(split)) & (silo.label >= 0))
        episodes += silo.episodes(rows)
    return episodes
