"""What an honest but curious server sees of one client, and what an attack makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from privacy.attacks.defence import Defence

Export = Mapping[str, Tensor]
"""The gradient, or the change, of each parameter that the client exported, by its name. What is
frozen is not in it."""

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Observation:
    """The attacker's view of one batch.

    Attributes:
        model: Holds the global weights that the client started from; attacks leave it unchanged.
        exports: T exports of the same batch, each with noise of its own.
        sigma: Size of the noise on each masked parameter, by name: an attacker who knows the
            defence can estimate it.
        defence: The mask, which is no secret; None: none.
        averaged: How many exports each of `exports` is the mean of; `sigma` is what is left then.
    """

    model: nn.Module
    exports: Sequence[Export]
    sigma: Mapping[str, float] = field(default_factory=dict)
    defence: Defence | None = None
    averaged: int = 1


class TextAttack(Protocol):
    """Reconstructs a batch's texts from nothing but the observation."""

    @property
    def name(self) -> str:
        """In the audit's table."""
        ...

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The texts it believes were in the batch, the best first; empty if it finds none."""
        ...


Candidates = TypeVar("Candidates", contravariant=True)


class CandidateAttack(Protocol[Candidates]):
    """Ranks candidates, texts or episodes, by how likely each was in the batch."""

    @property
    def name(self) -> str:
        """In the audit's table."""
        ...

    def __call__(self, seen: Observation, candidates: Candidates) -> NDArray[np.float64]:
        """A score for each candidate; the largest is the likeliest."""
        ...
