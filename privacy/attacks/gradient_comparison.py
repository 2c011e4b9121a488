"""Which of a bank of texts gives a gradient like the one seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.observation import Observation, Tokens
from privacy.roles import Role, parts_of
from privacy.text_task import TextBatch, gradient, is_decoder, transformer


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
        scales = _scales(seen, names)
        target = _flat(export, names, scales)
        return np.array(
            [
                max(
                    _cosine(_flat(gradient(model, batch, names), names, scales), target)
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
    return [TextBatch((text,), (label,)) for label in range(model.config.num_labels)]


def _scales(seen: Observation, names: Sequence[str]) -> dict[str, float]:
    """One over sigma; parts without noise outweigh all that has some, and so stand alone."""
    open_names = [name for name in names if name not in seen.sigma]
    if open_names:
        norms = {name: float(seen.exports[0][name].norm()) for name in open_names}
        return {name: 1 / norm if norm else 0.0 for name, norm in norms.items()}
    return {name: 1 / seen.sigma[name] for name in names}


def _flat(
    values: Mapping[str, Tensor], names: Sequence[str], scales: Mapping[str, float]
) -> Tensor:
    return torch.cat([values[name].flatten() * scales[name] for name in names if name in scales])


def _cosine(first: Tensor, second: Tensor) -> float:
    lengths = float(first.norm() * second.norm())
    return float(first @ second) / lengths if lengths else 0.0
