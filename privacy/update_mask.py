"""One client's masks in one round: on every step's gradient, or once on what it exports."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fglguard.errors import PrivacyError
from fglguard.parameters import layout
from fglguard.settings import PrivacySettings
from privacy.masks import Masked, freeze, mask
from privacy.noise import Noise
from privacy.plans import plan_of
from privacy.roles import parts_of
from privacy.signals import Strength

FlatVector = NDArray[np.float32]

_DUST = 2.0**-18
"""Of a parameter, up to 32 steps: 64 units of a float32's last place."""
_ROUNDING = 1e-3
"""Of an exponent: what is a power of two but for rounding stays one."""


def without_idle(sent: FlatVector, change: FlatVector, idle: float, steps: int) -> FlatVector:
    """A change without what decay alone does to the parameters, idle * sent, in so many steps.

    What rounding leaves of that is no change either: it would pass for a part, or a row, that data
    touched, and set the size of its noise. Each step rounds by half a unit of a float32's last
    place, and with a small decay always the same way.
    """
    left = change - sent * np.float32(idle)
    dust = np.float32(_DUST * max(1, steps / 32))
    return np.where(np.abs(left) <= dust * np.abs(sent), np.float32(0), left)


class UpdateMask:
    """Masks a model's gradients (mode `gradient`) or its exported change (mode `delta`).

    Making one freezes what the plan freezes. A real site hands in `SecureNoise`.

    Attributes:
        sigma: Of the noise on each masked parameter when last masked, by name. It follows from
            what it hides, and stays at the site.

    Args:
        model: What trains; it keeps its parameters.
        settings: The run's `privacy` settings.
        noise: Where noise comes from.
        looks: How many masked vectors of the same data one export lets be averaged: in mode
            `gradient` the round's steps, whose masked gradients the exported change adds up; in
            mode `delta` the vectors exported. The budget of T exports is one of T * looks.

    Raises:
        PrivacyError: A parameter has no role, or nothing is left to train.
    """

    def __init__(
        self, model: nn.Module, settings: PrivacySettings, noise: Noise, *, looks: int = 1
    ) -> None:
        self._settings = settings
        self._noise = noise
        self._plan = plan_of(settings.name)
        self._strength = Strength.of(settings, looks)
        parts = parts_of(model)
        freeze(parts, self._plan)
        places = zip(layout(model), parts, strict=True)
        self._trained = [(place, part) for place, part in places if part.parameter.requires_grad]
        if not self._trained:
            raise PrivacyError(
                f"privacy {settings.name}: every parameter of {type(model).__name__} is frozen"
            )
        self._figures: dict[str, float] = {}
        self.sigma: dict[str, float] = {}

    def require_enough(self, graphs: int) -> None:
        """Refuse to export what too few graphs determine.

        Raises:
            PrivacyError: Fewer than `settings.minimum_graphs`.
        """
        least = self._settings.minimum_graphs
        if graphs < least:
            raise PrivacyError(
                f"expected at least {least} graphs to train on (privacy.minimum_graphs), got "
                f"{graphs}: an update of so few is nearly a record of each; nothing is exported"
            )

    def gradients(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """One step's gradients, masked in mode `gradient`; one for each parameter that trains."""
        if self._settings.mode == "delta":
            return tuple(gradients)
        return tuple(self._masked(gradients))

    def update(
        self, sent: FlatVector, trained: FlatVector, idle: float = 0.0, steps: int = 1
    ) -> FlatVector:
        """What to export for the parameters that came and those that local training ended with.

        Args:
            sent: The global parameters, float32 [P].
            trained: As trained, float32 [P].
            idle: What weight decay alone does to a parameter, as a share of it. No data is in that,
                so it stays outside of the mask: rows that no data touched would count as touched.
            steps: In how many steps: each rounds.
        """
        if self._settings.name == "none" or self._settings.mode == "gradient":
            return trained
        change, exported = trained - sent, sent.copy()
        for place, _ in self._trained:
            part = sent[place.span]
            exported[place.span] += part * np.float32(idle)
            change[place.span] = without_idle(part, change[place.span], idle, steps)
        return exported + self.change(change)

    def change(self, change: FlatVector) -> FlatVector:
        """A change of parameters, or another vector [P] of gradients, masked in mode `delta`."""
        if self._settings.name == "none" or self._settings.mode == "gradient":
            return change
        parts = [
            torch.from_numpy(change[place.span].reshape(place.shape)) for place, _ in self._trained
        ]
        hidden = np.zeros_like(change)
        for (place, _), values in zip(self._trained, self._masked(parts), strict=True):
            hidden[place.span] = values.reshape(-1).numpy()
        return hidden

    def figures(self) -> dict[str, float]:
        """How far each masked tensor stood out of its noise, at most: s1 / sigma, |G|_F / sigma.

        Rounded up to powers of two: exact ones are numbers about the batch that pick it out.
        """
        return dict(self._figures)

    def _masked(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        parts = [part for _, part in self._trained]
        values, done = mask(parts, gradients, self._plan, self._strength, self._noise)
        self.sigma = {record.name: record.sigma for record in done if record.sigma}
        for record in done:
            self._keep(record)
        return values

    def _keep(self, record: Masked) -> None:
        for kind, value in (("top", record.top_ratio), ("norm", record.norm_ratio)):
            if value is not None:
                key = f"mask.{record.name}.{kind}_over_sigma"
                rounded = 2.0 ** math.ceil(math.log2(value) - _ROUNDING) if value else 0.0
                self._figures[key] = max(rounded, self._figures.get(key, 0.0))
