"""Which episodes of a run's silos are worth a look."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.bundle import Bundle
from fglguard.corpora.splits import SPLITS
from fglguard.evaluation.report.episode_view import EpisodeViews, Why
from fglguard.evaluation.report.viewer import EpisodeViewer, without_names
from fglguard.silo import Silo
from fglguard.training import score_graphs

EACH = 3
"""How many episodes of each sort are shown."""
MOST_SCORED = 4000
"""From more test episodes, so many are looked at, evenly spaced."""


def view_episodes(
    silos: Sequence[Silo], bundle: Bundle, *, with_text: bool, each: int = EACH
) -> EpisodeViews:
    """Score the silos' test splits and choose what is worth a look.

    The highest scores, the missed (unsafe, below tau; lowest first) and the false alarms (safe, at
    or above tau; highest first), `each` of each sort; no episode is shown twice. tau is that of the
    episode's domain, where it has its own.

    Args:
        silos: Where episodes are, prepared with the guard's encoder and graphs.
        bundle: The guard.
        with_text: Whether utterances and the names that a site chose go along: ids of agents
            (tools among them), episodes and silos.
        each: How many of each sort.

    Raises:
        SiloError: A silo was not prepared, or is damaged.
    """
    rows = [np.flatnonzero(silo.split == SPLITS.index("test")) for silo in silos]
    held = sum(map(len, rows))
    if held > MOST_SCORED:
        rows = [found[:: -(-held // MOST_SCORED)] for found in rows]
    viewers = [EpisodeViewer(silo, bundle) for silo in silos]
    scores = [
        score_graphs(bundle.detector, viewer.packed, r)
        for viewer, r in zip(viewers, rows, strict=True)
    ]
    at = [(s, int(row)) for s, found in enumerate(rows) for row in found]
    corroborated = np.concatenate([part.corroborated for part in scores] or [np.zeros(0)])
    label = np.array([int(silos[s].label[row]) for s, row in at], dtype=np.int64)
    thresholds = np.array([viewers[s].threshold(row) for s, row in at], dtype=np.float64)
    chosen = choose(corroborated, label, corroborated >= thresholds, each)
    shown = [viewers[at[i][0]].view(at[i][1], why) for i, why in chosen.items()]
    if not with_text:
        shown = list(without_names(shown))
    return EpisodeViews(tuple(shown), len(at), held)


def choose(
    corroborated: NDArray[np.float64],
    label: NDArray[np.int64],
    blocked: NDArray[np.bool_],
    each: int,
) -> dict[int, tuple[Why, ...]]:
    """Which episodes are worth a look, and why; sorts in order, ties by the episodes' order."""
    descending = np.argsort(-corroborated, kind="stable")
    ascending = np.argsort(corroborated, kind="stable")
    missed = (label == 1) & ~blocked
    alarms = (label == 0) & blocked
    orders: tuple[tuple[Why, NDArray[np.int64]], ...] = (
        ("most suspicious", descending),
        ("missed", ascending[missed[ascending]]),
        ("false alarm", descending[alarms[descending]]),
    )
    chosen: dict[int, tuple[Why, ...]] = {}
    for why, order in orders:
        new = [index for index in order.tolist() if index not in chosen][:each]
        chosen |= dict.fromkeys(new, (why,))
    for index, (why,) in list(chosen.items()):
        # The most suspicious may be a false alarm too, or missed where tau is higher still.
        also: Why = "missed" if missed[index] else "false alarm"
        if (missed[index] or alarms[index]) and why != also:
            chosen[index] = (why, also)
    return chosen
