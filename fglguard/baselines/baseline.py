"""What every baseline is: trained on samples, it scores samples, or says why it can't."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fglguard.baselines.samples import Samples
from fglguard.errors import BaselineError

Form = Literal["episodes", "last_messages", "graphs"]
"""The part of `Samples` that a baseline looks at."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Higher is more suspect.

    Attributes:
        episode: [G] float64.
        node: [N] float64, of every node of the graphs; None from a baseline that has none.
    """

    episode: NDArray[np.float64]
    node: NDArray[np.float64] | None = None


Scorer = Callable[[Samples], Scores]
"""Scores samples; looks at no label of theirs."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A floor or a peer.

    Attributes:
        name: What tables call it.
        form: The part of the samples that it looks at.
        uses_labels: Whether training looks at labels; if not, flipping them changes no score.
        fit: Trains on samples with a seed. Raises BaselineError where it can't.
    """

    name: str
    form: Form
    uses_labels: bool
    fit: Callable[[Samples, int], Scorer]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Scores, or the reason why there are none; one of the two is None."""

    scores: Scores | None
    reason: str | None


def run_baseline(baseline: Baseline, train: Samples, test: Samples, seed: int) -> Outcome:
    """Train a baseline and score with it; what it can't be trained on becomes a reason."""
    try:
        return Outcome(baseline.fit(train, seed)(test), None)
    except BaselineError as error:
        return Outcome(None, f"{baseline.name}: {error}")
