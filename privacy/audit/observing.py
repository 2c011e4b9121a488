"""What an attacker sees of one client's batch, under a mask or of noise alone."""

import copy
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.defence import Defence
from privacy.attacks.observation import Export, Observation
from privacy.masks import Masked, freeze, mask
from privacy.noise import Noise, SeededNoise
from privacy.plans import Plan
from privacy.roles import Part, parts_of
from privacy.signals import Strength
from privacy.text_task import TextBatch, gradient

_NULL = 1
"""Tells the seed of noise alone from the seed of a mask."""


def observe(
    model: PreTrainedModel,
    batch: TextBatch,
    plan: Plan,
    strength: Strength,
    *,
    exports: int = 1,
    seed: Sequence[int] = (0,),
) -> Observation:
    """A batch's gradient, masked anew for each export.

    Args:
        model: The global weights; left as it is, also in what trains.
        batch: The client's.
        plan: What is done to which role.
        strength: Of the noise; `strength.exports` is the number it is budgeted for.
        exports: How many the attacker sees.
        seed: Of the noise.

    Raises:
        PrivacyError: As `parts_of`, `gradient` and `mask` do.
    """
    parts, found, model = _gradient(model, batch, plan)
    seen: list[Export] = []
    records: list[Masked] = []
    for number in range(exports):
        noise = SeededNoise((*seed, 0, number))
        masked, records = mask(parts, list(found.values()), plan, strength, noise)
        seen.append(dict(zip(found, masked, strict=True)))
    return Observation(model, seen, _sigmas(records), Defence(plan, strength))


def observe_mean(
    model: PreTrainedModel,
    batch: TextBatch,
    plan: Plan,
    strength: Strength,
    *,
    exports: int,
    seed: Sequence[int] = (0,),
) -> Observation:
    """The mean of T exports as one export, drawn at once.

    The T exports are one signal under independent Gaussian noise of size sigma, so that their mean
    is the signal under noise of size sigma / sqrt(T), and a sufficient statistic: no attack on the
    T exports themselves can know more. Arguments as of `observe`.
    """
    parts, found, model = _gradient(model, batch, plan)
    noise = _Quieter(SeededNoise((*seed, 0, exports)), math.sqrt(exports))
    masked, records = mask(parts, list(found.values()), plan, strength, noise)
    left = {name: sigma / math.sqrt(exports) for name, sigma in _sigmas(records).items()}
    export = dict(zip(found, masked, strict=True))
    return Observation(model, [export], left, Defence(plan, strength), exports)


def observe_null(
    model: PreTrainedModel,
    stranger: TextBatch,
    plan: Plan,
    strength: Strength,
    *,
    exports: int = 1,
    seed: Sequence[int] = (0,),
) -> Observation:
    """Noise alone, where an attack can find nothing: its score here is what guessing gets.

    What a mask covers is that mask's noise, at the sigma that it would have given to another batch;
    what is open is Gaussian of the norm that the other batch's gradient has. So of the batch under
    attack nothing enters, not even the size of its noise.

    Args:
        model: As of `observe`.
        stranger: Other texts than those attacked, as many.
        plan: As of `observe`.
        strength: As of `observe`.
        exports: As of `observe`.
        seed: Of the noise.
    """
    parts, found, model = _gradient(model, stranger, plan)
    _, records = mask(parts, list(found.values()), plan, strength, SeededNoise((*seed, 0, 0)))
    seen: list[Export] = [
        _noise(found, records, SeededNoise((*seed, _NULL, number))) for number in range(exports)
    ]
    return Observation(model, seen, _sigmas(records), Defence(plan, strength))


class _Quieter:
    """Noise divided by a factor."""

    def __init__(self, noise: Noise, factor: float) -> None:
        self._noise, self._factor = noise, factor

    def fill(self, tensor: Tensor, sigma: float) -> Tensor:
        return self._noise.fill(tensor, sigma / self._factor)


def _gradient(
    model: PreTrainedModel, batch: TextBatch, plan: Plan
) -> tuple[list[Part], dict[str, Tensor], PreTrainedModel]:
    own = copy.deepcopy(model)
    parts = parts_of(own)
    freeze(parts, plan)
    trained = [part for part in parts if part.parameter.requires_grad]
    return trained, gradient(own, batch), own


def _noise(
    found: Mapping[str, Tensor], records: Sequence[Masked], noise: SeededNoise
) -> dict[str, Tensor]:
    return {
        name: noise.fill(
            torch.empty_like(value, memory_format=torch.contiguous_format),
            record.sigma or value.norm().item() / math.sqrt(value.numel()),
        )
        for (name, value), record in zip(found.items(), records, strict=True)
    }


def _sigmas(records: Sequence[Masked]) -> dict[str, float]:
    return {record.name: record.sigma for record in records if record.sigma}
