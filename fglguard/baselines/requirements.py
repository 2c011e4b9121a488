"""What a training set must have before a baseline's score on others means anything."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import task_groups
from fglguard.episode import Episode
from fglguard.errors import BaselineError

MINIMUM_EPISODES = 10
"""With fewer, a classifier's weights are chance."""


def labelled(episodes: Sequence[Episode]) -> tuple[list[Episode], NDArray[np.bool_]]:
    """The labelled episodes and whether they are unsafe.

    Raises:
        BaselineError: No supervised baseline can be trained on them (`why_unfit`).
    """
    reason = why_unfit(episodes)
    if reason:
        raise BaselineError(reason)
    known = [episode for episode in episodes if episode.unsafe is not None]
    return known, np.array([episode.unsafe for episode in known], dtype=np.bool_)


def why_unfit(train: Sequence[Episode]) -> str | None:
    """Why no supervised baseline can be trained on these episodes; None if one can.

    Both classes must be there, at least `MINIMUM_EPISODES` labelled episodes, and more than one
    group of alike tasks: what tells the classes of one task apart need not hold for another.
    """
    known = [episode for episode in train if episode.unsafe is not None]
    labels = {episode.unsafe for episode in known}
    if len(labels) < 2:
        found = "no labelled" if not labels else "only unsafe" if labels.pop() else "only safe"
        return f"expected safe and unsafe training episodes, got {found} ones"
    return _why_few(known, "labelled training")


def check_unlabelled(train: Sequence[Episode]) -> None:
    """Likewise for a baseline that looks at no label.

    Raises:
        BaselineError: The episodes are too few, or all of one group of alike tasks.
    """
    reason = _why_few(train, "training")
    if reason:
        raise BaselineError(reason)


def check_finite(vectors: NDArray[np.float32], what: str) -> None:
    """Refuse vectors with a NaN or an infinity in them, which would make every score one.

    Args:
        vectors: [n, d].
        what: Names a row in the error.

    Raises:
        BaselineError: The text says how many rows are affected and which is the first.
    """
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise BaselineError(
            f"expected finite vectors, got NaN or infinity in {len(bad)} of {len(vectors)} "
            f"{what}s, first in {what} {bad[0]}"
        )


def _why_few(episodes: Sequence[Episode], what: str) -> str | None:
    if len(episodes) < MINIMUM_EPISODES:
        return f"expected at least {MINIMUM_EPISODES} {what} episodes, got {len(episodes)}"
    groups = task_groups([e.task for e in episodes], [e.domain for e in episodes])
    if not groups.any():
        return f"expected {what} episodes of at least 2 tasks, got {len(episodes)} of one"
    return None
