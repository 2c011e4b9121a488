"""What scores episodes that no silo holds: guards by their live path, and text floors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.baselines.floors import TEXT_FLOORS
from fglguard.baselines.requirements import labelled
from fglguard.calibration import calibrate
from fglguard.episode import Episode
from fglguard.errors import BaselineError, FederationError
from fglguard.guard import Guard
from fglguard.silo import Silo
from scripts.reproducing.baselines import POOLED, arm_of, probabilities
from scripts.reproducing.board import Board
from scripts.reproducing.scores import episodes_of

Columns = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Raw and corroborated scores, each [episodes]."""


@dataclass(frozen=True)
class Scorer:
    """A guard or a floor.

    Attributes:
        arm: Its name.
        threshold: A corroborated score at or above it is blocked; chosen on validation.
        score: Scores of episodes.
    """

    arm: str
    threshold: float
    score: Callable[[Sequence[Episode]], Columns]


def guard_scorer(arm: str, guard: Guard) -> Scorer:
    """A guard, at its pooled threshold."""

    def score(episodes: Sequence[Episode]) -> Columns:
        verdicts = guard.score(episodes)
        raw = [verdict.score for verdict in verdicts]
        corroborated = [verdict.corroborated_score for verdict in verdicts]
        failed = [verdict for verdict in verdicts if verdict.score is None]
        if failed:
            raise FederationError(
                f"{arm}: expected a score of every episode, got none of "
                f"{failed[0].episode_id} and {len(failed) - 1} more: {failed[0].reason}"
            )
        return np.array(raw, dtype=np.float64), np.array(corroborated, dtype=np.float64)

    return Scorer(arm, guard.threshold, score)


def floor_scorers(silos: Sequence[Silo], study: str, seed: int, board: Board) -> Iterator[Scorer]:
    """The text floors trained on all corpora pooled, calibrated on validation as guards are.

    Args:
        silos: With the sides that count.
        study: What the sides are for.
        seed: Of the solver.
        board: Receives why a floor can't be fitted.
    """
    train = episodes_of(silos, "train")
    val = [episode for episode in episodes_of(silos, "val") if episode.unsafe is not None]
    labels = [episode.unsafe for episode in val]
    for name, fit in TEXT_FLOORS.items():
        arm = arm_of(name, POOLED)
        try:
            decide = fit(*labelled(train), seed)
        except BaselineError as error:
            board.unfit[arm, study, ""] = str(error)
            continue

        def score(episodes: Sequence[Episode], decide: object = decide) -> Columns:
            assert callable(decide)
            values = probabilities(decide(episodes))
            return values, values

        yield Scorer(arm, calibrate(score(val)[1], labels).threshold, score)
