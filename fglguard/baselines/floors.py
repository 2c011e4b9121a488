"""Text floors: what word counts and a linear classifier reach without any graph.

They need all training text in one place, which a federation does not have. A guard that does not
beat them is not worth its trouble. Features come from messages alone: never from ids, domain,
attributes or task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

TEXT_FLOORS: Mapping[str, TextFloor] = MappingProxyType(
    {"counts": fit_counts, "tfidf": fit_tfidf, "hashed_words": fit_hashed_words}
)


@dataclass(frozen=True, slots=True, eq=False)
class FloorScores:
    """What a floor gives.

    Attributes:
        decision: [test episodes] decision values; None where the floor can't be fitted.
        reason: Why it can't; None where it can.
    """

    decision: NDArray[np.float64] | None
    reason: str | None


def floors(train: Sequence[Episode], test: Sequence[Episode], seed: int) -> dict[str, FloorScores]:
    """Fit each text floor on `train` and score `test`; higher is more suspect.

    Args:
        train: Unlabelled episodes are left out.
        test: Labels are not looked at.
        seed: Of the solver.

    Returns:
        By name, the scores or the reason why there are none.
    """
    found: dict[str, FloorScores] = {}
    for name, fit in TEXT_FLOORS.items():
        try:
            found[name] = FloorScores(fit(*labelled(train), seed)(test), None)
        except BaselineError as error:
            found[name] = FloorScores(None, str(error))
    return found
