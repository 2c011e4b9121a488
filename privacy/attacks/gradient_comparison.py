"""Which of a bank of texts gives a gradient like the one seen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.scales import flatten, scales_of
from privacy.roles import Role, parts_of
from privacy.text_task import TextBatch, classes, gradient, is_decoder, transformer

GradientOf = Callable[[PreTrainedModel, TextBatch, Iterable[str]], Mapping[str, Tensor]]
"""From a model, a batch and names of parameters to their gradients."""


@dataclass(frozen=True)
class GradientComparison:
    """Cosine between a candidate's gradient and the export, over parameters of chosen roles.

    Parameters are scaled by `scales_of`. What all candidates have in common, above all a class's
    direction, tells nothing: the bank's mean gradient (one for each class) is projected out of both
    sides. A classifier's candidate is tried with each class.

    Attributes:
        roles: Only these; empty: everything exported.
        gradient_of: Computes a candidate's gradient, or remembers it.
        name: In the audit's table.
    """

    roles: frozenset[StrEnum] = frozenset()
    name: str = "gradient comparison"
    gradient_of: GradientOf = gradient

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
        labels: list[tuple[int, ...]] = [()]
        if not is_decoder(model):
            labels = [(label,) for label in range(classes(model))]

        def own(text: Tokens, label: tuple[int, ...]) -> Tensor:
            return flatten(self.gradient_of(model, TextBatch((text,), label), scales), scales)

        # Twice, rather than to hold every candidate's gradient in memory at once.
        common = _common([_mean(own, candidates, label) for label in labels], len(candidates))
        target = _without(flatten(export, scales), common)
        return np.array(
            [
                max(_cosine(_without(own(text, label), common), target) for label in labels)
                for text in candidates
            ]
        )


BIASES_AND_NORMS: frozenset[StrEnum] = frozenset((Role.BIAS, Role.NORMALISATION))
POSITIONS: frozenset[StrEnum] = frozenset((Role.POSITION_EMBEDDING,))

_FEW = 4
"""In a smaller bank, the mean is no more than its members."""


def _mean(
    own: Callable[[Tokens, tuple[int, ...]], Tensor],
    candidates: Sequence[Tokens],
    label: tuple[int, ...],
) -> Tensor:
    total = own(candidates[0], label)
    for text in candidates[1:]:
        total = total + own(text, label)
    return total / len(candidates)


def _common(means: Sequence[Tensor], candidates: int) -> Tensor:
    """An orthonormal basis [P, classes] of the mean gradients; empty for a small bank."""
    stacked = torch.stack(list(means), dim=1)
    if candidates < _FEW:
        return stacked[:, :0]
    basis: Tensor = torch.linalg.qr(stacked)[0]
    return basis


def _without(values: Tensor, common: Tensor) -> Tensor:
    return values - common @ (common.t() @ values)


def _cosine(first: Tensor, second: Tensor) -> float:
    lengths = float(first.norm() * second.norm())
    return float(first @ second) / lengths if lengths else 0.0
