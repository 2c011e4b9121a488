"""Text floors: what word counts and a linear classifier reach without any graph.

They need all training text in one place, which a federation does not have. A guard that does not
beat them is not worth its trouble. Features come from messages alone: never from ids, domain,
attributes or task.
"""

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fglguard.baselines.hashed_words import fit_hashed_words
from fglguard.baselines.message_counts import fit_counts
from fglguard.baselines.requirements import labelled
from fglguard.baselines.text_floor import TextFloor
from fglguard.baselines.tfidf import fit_tfidf
from fglguard.episode import Episode
from fglguard.errors import BaselineError

log = logging.getLogger(__name__)

TEXT_FLOORS: Mapping[str, TextFloor] = MappingProxyType(
    {"counts": fit_counts, "tfidf": fit_tfidf, "hashed_words": fit_hashed_words}
)


def floors(
    train: Sequence[Episode], test: Sequence[Episode], seed: int
) -> dict[str, NDArray[np.float64] | None]:
    """Fit each text floor on `train` and score `test`; higher is more suspect.

    Args:
        train: Unlabelled episodes are left out.
        test: Labels are not looked at.
        seed: Of the solver.

    Returns:
        By name, decision values [len(test)], or None where the floor can't be fitted; the log says
        why.
    """
    scores: dict[str, NDArray[np.float64] | None] = {}
    for name, fit in TEXT_FLOORS.items():
        try:
            scores[name] = fit(*labelled(train), seed)(test)
        except BaselineError as error:
            log.warning("text floors: %s: %s", name, error)
            scores[name] = None
    return scores
