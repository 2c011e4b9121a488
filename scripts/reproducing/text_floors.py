"""Text floors on a protocol's sides, trained on all corpora pooled, and on each corpus alone."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.baselines.floors import floors
from fglguard.corpora.splits import SPLITS
from fglguard.episode import Episode
from fglguard.silo import Silo
from scripts.reproducing.scores import Scores, episode_rows, unscored

PREFIX = "floor: "
POOLED, PER_CORPUS = "pooled", "per corpus"


def is_floor(arm: str) -> bool:
    """Whether an arm is a text floor."""
    return arm.startswith(PREFIX)


def floor_scores(silos: Sequence[Silo], seed: int, keep: Path) -> dict[str, Scores]:
    """Test scores of every floor, as probabilities; kept in a file for the next time.

    A floor per corpus is fitted to a domain's own training episodes and scores that domain alone;
    where a domain has none of both labels, it leaves that domain out.

    Args:
        silos: With the sides that count.
        seed: Of the solver.
        keep: The file.

    Returns:
        By arm, e.g. `floor: tfidf, pooled`. `raw` and `corroborated` are the same.
    """
    blank = unscored(silos, episode_rows(silos, ("test",)))
    if keep.exists():
        kept = Scores.read(keep)
        return {str(arm): kept.where(kept.guard == arm) for arm in dict.fromkeys(kept.guard)}
    train, test = episodes_of(silos, "train"), episodes_of(silos, "test")
    found = {
        f"{PREFIX}{name}, {POOLED}": scores for name, scores in floors(train, test, seed).items()
    } | _per_corpus(train, test, seed)
    parts = {
        arm: _with_scores(blank, arm, scores) for arm, scores in found.items() if scores is not None
    }
    if parts:
        columns = {
            f.name: np.concatenate([getattr(part, f.name) for part in parts.values()])
            for f in fields(Scores)
        }
        Scores(**columns).write(keep)
    return parts


def _per_corpus(
    train: Sequence[Episode], test: Sequence[Episode], seed: int
) -> dict[str, NDArray[np.float64] | None]:
    domain = np.array([episode.domain for episode in test])
    found: dict[str, NDArray[np.float64]] = {}
    for name in np.unique(domain):
        inside = np.flatnonzero(domain == name)
        own = [episode for episode in train if episode.domain == name]
        if not own:
            continue
        for floor, scores in floors(own, [test[i] for i in inside], seed).items():
            if scores is not None:
                arm = f"{PREFIX}{floor}, {PER_CORPUS}"
                found.setdefault(arm, np.full(len(test), np.nan))[inside] = scores
    return dict(found)


def probabilities(decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the decision values of a logistic regression stand for."""
    return 1 / (1 + np.exp(-decision))


def _with_scores(blank: Scores, arm: str, decision: NDArray[np.float64]) -> Scores:
    probability = probabilities(decision)
    whole = replace(
        blank, raw=probability, corroborated=probability, guard=np.full(len(blank), arm)
    )
    return whole.where(~np.isnan(decision))


def episodes_of(silos: Sequence[Silo], side: str) -> list[Episode]:
    """The episodes of a side, in the order of the rows of `episode_rows`."""
    code = SPLITS.index(side)
    return [
        episode for silo in silos for episode in silo.episodes(np.flatnonzero(silo.split == code))
    ]
