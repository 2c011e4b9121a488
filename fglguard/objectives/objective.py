"""The local objective as the training loop sees it; on its own it adds nothing to BCE."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fglguard.detector import Detector
from fglguard.objectives.trainable import FlatVector
from fglguard.packed_graphs import GraphBatch, PackedGraphs

Hide = Callable[[FlatVector], FlatVector]
"""Masks a vector [P] before it is exported."""

Gradients = tuple[Tensor, ...]
"""One tensor for each trainable parameter."""


@dataclass(frozen=True)
class Pull:
    """A proximal term (strength / 2) ||theta - anchor||^2.

    Attributes:
        strength: mu, at least 0.
        anchor: One tensor for each trainable parameter.
    """

    strength: float
    anchor: list[Tensor]


@dataclass(frozen=True)
class Outcome:
    """What comes of local training besides the parameters.

    Attributes:
        exports: Vectors for the server, each float32 [P], by name.
        state: Vectors that the client keeps for its next round, each float32 [P], by name.
    """

    exports: Mapping[str, FlatVector] = field(default_factory=dict)
    state: Mapping[str, FlatVector] = field(default_factory=dict)


def unmasked(vector: FlatVector) -> FlatVector:
    """The vector itself."""
    return vector


class Objective:
    """BCE alone, FedAvg's and FedProx's; a subclass adds what its strategy asks for.

    One instance serves one round at one client. `train_locally` calls `begin` once, then at each
    step `term` (where `has_term`) and `correct`; the caller ends with `finish`.

    Attributes:
        received: Names of the vectors that the server must send beside the parameters.
        kept: Names of the vectors in the client's state.
        further: How many vectors it exports that the parameters do not determine: as many more
            looks at the same data for whoever receives them.
        has_term: Whether `term` adds to the loss; known after `begin`.
        pull: Replaces the pull towards the global model; set by `begin`, None for no other.
    """

    received: ClassVar[tuple[str, ...]] = ()
    kept: ClassVar[tuple[str, ...]] = ()
    further: ClassVar[int] = 0
    has_term: bool = False
    pull: Pull | None = None

    def begin(self, detector: Detector, packed: PackedGraphs, chosen: NDArray[np.int64]) -> None:
        """Prepare what stays the same over the round.

        Args:
            detector: Holds the global model, which must stay in it.
            packed: The site's graphs.
            chosen: Which of them are trained on, [C].
        """

    def term(self, hidden: Tensor, batch: GraphBatch, positions: NDArray[np.int64]) -> Tensor:
        """The weighted loss term of one batch, a scalar that is added to BCE; 0 for BCE alone.

        Args:
            hidden: The batch's node representations [N, H], with gradients.
            batch: The graphs.
            positions: [G], where each graph of the batch stands in `chosen`.
        """
        return hidden.new_zeros(())

    def correct(self, gradients: Gradients) -> Gradients:
        """The gradient to descend, from the gradient of the loss."""
        return gradients

    def finish(self, detector: Detector, parameters: FlatVector, hide: Hide = unmasked) -> Outcome:
        """What to send and keep.

        Args:
            detector: As trained.
            parameters: Its parameters as they are exported, float32 [P].
            hide: Must be applied to every exported vector that `parameters` does not determine.
        """
        return Outcome()
