"""Text floors beside the guard: what pooled text and a linear classifier reach.

A federation can't have these, since they need every site's text in one place; a simulation can,
and a guard that does not beat them is not worth deploying.
"""

from typing import Any

import numpy as np

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.episode import Episode
from fglguard.evaluation.metrics import auroc
from fglguard.settings import RunSettings


def floor_aurocs(settings: RunSettings) -> dict[str, Any]:
    """AUROC of each floor on each domain's test split, trained on all training splits pooled.

    Returns:
        By floor: `domains` (AUROC by domain, None where it has one class) and `mean`.
    """
    # Here: scikit-learn takes a second to import, which would delay the first round.
    from fglguard.baselines.floors import floors

    train, test = _labelled(settings, "train"), _labelled(settings, "test")
    labels = np.array([episode.unsafe for episode in test], dtype=np.int64)
    domain = np.array([episode.domain for episode in test])
    results: dict[str, Any] = {}
    for name, scores in floors(train, test, settings.seed).items():
        by_domain = {
            str(d): None if scores is None else auroc(scores[domain == d], labels[domain == d])
            for d in np.unique(domain)
        }
        defined = [value for value in by_domain.values() if value is not None]
        results[name] = {
            "domains": by_domain,
            "mean": float(np.mean(defined)) if defined else None,
        }
    return results


def _labelled(settings: RunSettings, split: str) -> list[Episode]:
    episodes: list[Episode] = []
    for silo in open_corpus(settings.corpus):
        rows = np.flatnonzero((silo.split == SPLITS.index(split)) & (silo.label >= 0))
        episodes += silo.episodes(rows)
    return episodes
