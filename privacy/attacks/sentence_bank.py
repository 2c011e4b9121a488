"""Which of a bank of sentences a head has read: its input lies in the head's row space."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privacy.attacks.channels import Channel, channels
from privacy.attacks.layer_inputs import text_inputs
from privacy.attacks.matched_filter import filter_response
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.row_space import Basis, by_tolerance, distance
from privacy.text_task import transformer


@dataclass(frozen=True)
class SentenceBank:
    """Minus the mean distance of a sentence's inputs to the row space of pooler and head.

    Under known noise (`sigma`) the mean response of a matched filter instead.

    Attributes:
        basis: Of a gradient's row space.
        name: In the audit's table.
    """

    basis: Basis = field(default_factory=by_tolerance)
    name: str = "sentence bank"

    def __call__(self, seen: Observation, candidates: Sequence[Tokens]) -> NDArray[np.float64]:
        """A score for each sentence; all 0 if no head was exported."""
        total = torch.zeros(len(candidates))
        for channel in channels(seen.model, "head"):
            total += self._scores(channel, seen, candidates)
        scores: NDArray[np.float64] = total.double().numpy()
        return scores

    def _scores(self, channel: Channel, seen: Observation, candidates: Sequence[Tokens]) -> Tensor:
        gradient = channel.gradient(seen.exports[0])
        if gradient is None:
            return torch.zeros(len(candidates))
        read, present = text_inputs(transformer(seen.model), channel.module, candidates)
        sigma = channel.sigma(seen.exports[0], seen.sigma)
        if sigma:
            fit = filter_response(gradient, read, sigma)
        else:
            fit = -distance(read, self.basis(gradient, sigma))
        # The last token of a language model predicts nothing: its state reaches no head.
        counted = present.clone()
        if counted.shape[1] > 1:
            counted[torch.arange(len(counted)), present.sum(1) - 1] = False
        return (fit * counted).sum(1) / counted.sum(1).clamp_min(1)
