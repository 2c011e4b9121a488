"""Any attack on the average of several exports, in which noise of zero mean wears off."""

import math
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privacy.attacks.observation import CandidateAttack, Observation, TextAttack, Tokens

Candidates = TypeVar("Candidates")

Average = Literal["mean", "median"]

MEDIAN_LOSS = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, for Gaussian noise and many exports."""


def averaged(seen: Observation, average: Average) -> Observation:
    """One export, the mean or the element-wise median of all, with the noise left in it.

    The mean of T divides sigma by sqrt(T); the median by sqrt(T) / sqrt(pi / 2).
    """
    count = len(seen.exports)
    if count == 1:
        return seen
    export = {
        name: _middle(torch.stack([export[name] for export in seen.exports]), average)
        for name in seen.exports[0]
    }
    loss = 1.0 if average == "mean" else MEDIAN_LOSS
    sigma = {name: size * loss / math.sqrt(count) for name, size in seen.sigma.items()}
    return replace(seen, exports=[export], sigma=sigma)


def _middle(values: Tensor, average: Average) -> Tensor:
    if average == "mean":
        return values.mean(dim=0)
    return values.quantile(0.5, dim=0)


@dataclass(frozen=True)
class Averaged:
    """An attack on the average of all exports.

    Attributes:
        attack: On texts.
        average: Mean or median.
    """

    attack: TextAttack
    average: Average = "mean"

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"{self.attack.name}, {self.average} of exports"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """What the attack finds in the average."""
        return self.attack(averaged(seen, self.average))


@dataclass(frozen=True)
class AveragedRanking(Generic[Candidates]):
    """An attack on a bank of candidates, on the average of all exports.

    Attributes:
        attack: On candidates.
        average: Mean or median.
    """

    attack: CandidateAttack[Candidates]
    average: Average = "mean"

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"{self.attack.name}, {self.average} of exports"

    def __call__(self, seen: Observation, candidates: Candidates) -> NDArray[np.float64]:
        """The attack's scores in the average."""
        return self.attack(averaged(seen, self.average), candidates)
