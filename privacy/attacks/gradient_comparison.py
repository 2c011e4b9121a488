"""Which of a bank of texts gives a gradient like the one seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.scales import flatten, scales_of
from privacy.roles import Role, parts_of
from privacy.text_task import TextBatch, classes, gradient, is_decoder, transformer


@dataclass(frozen=True)
class GradientComparison:
    """Cosine between a candidate's gradient and the export, over parameters of chosen roles.

    Each parameter is divided by the noise's sigma first, where there is noise: with Gaussian noise
    of unequal sizes that is the most powerful linear test for a gradient known but for its size.
    Without noise, by the norm of what was seen. A classifier's candidate is tried with each class.

    Attributes:
        roles: Only these; empty: everything exported.
        name: In the audit's table.
    """

    roles: frozenset[StrEnum] = frozenset()
    name: str = "gradient comparison"

    def __call__(self, seen: Observation, candidates: Sequence[Tokens]) -> NDArray[np.float64]:
        """A score for each text; all 0 if none of the parameters was exported."""
        export = seen.exports[0]
        names = [
            part.name
            for part in parts_of(seen.model)
            if part.name in export and (not self.roles or part.role in self.roles)
        ]
        if not names:
            return np.zeros(len(candidates))
        model = transformer(seen.model)
        scales = scales_of(seen, names)
        target = flatten(export, scales)
        return np.array(
            [
                max(
                    _cosine(flatten(gradient(model, batch, names), scales), target)
                    for batch in _labelled(model, text)
                )
                for text in candidates
            ]
        )


BIASES_AND_NORMS: frozenset[StrEnum] = frozenset((Role.BIAS, Role.NORMALISATION))
POSITIONS: frozenset[StrEnum] = frozenset((Role.POSITION_EMBEDDING,))


def _labelled(model: PreTrainedModel, text: Tokens) -> list[TextBatch]:
    if is_decoder(model):
        return [TextBatch((text,))]
    return [TextBatch((text,), (label,)) for label in range(classes(model))]


def _cosine(first: Tensor, second: Tensor) -> float:
    lengths = float(first.norm() * second.norm())
    return float(first @ second) / lengths if lengths else 0.0
