"""What a mask would have made of each of an attacker's candidates, noise aside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from privacy.attacks.defence import Defence
from privacy.plans import Operation, operation_of
from privacy.roles import Part, parts_of
from privacy.signals import Signal, signals


@dataclass(frozen=True, eq=False)
class MaskedRows:
    """One part under the mask, a row a candidate: factor * row, under noise of size sigma.

    Attributes:
        rows: [R, size].
        factors: [R] float64; not a number where the mask would have let nothing go.
        sigmas: Of one export's noise, [R] float64; 0 for a part that is open.
    """

    rows: Tensor
    factors: Tensor
    sigmas: Tensor

    @cached_property
    def squares(self) -> Tensor:
        """|factor * row|^2, [R] float64."""
        lengths = torch.linalg.vector_norm(self.rows, dim=1).double()
        squares: Tensor = (self.factors * lengths).square()
        return squares


def mask_rows(
    model: nn.Module, gradients: Mapping[str, Tensor], defence: Defence | None
) -> dict[str, MaskedRows]:
    """Each candidate's gradients through `privacy.signals.signals`.

    Args:
        model: Says which part each parameter plays.
        gradients: Of each parameter that is exported [R, size], by name.
        defence: The mask; None: every part is open.
    """
    parts = [part for part in parts_of(model) if part.name in gradients]
    count = len(next(iter(gradients.values()))) if gradients else 0
    found = {
        part.name: MaskedRows(
            gradients[part.name].clone() if _reshaped(part, defence) else gradients[part.name],
            torch.ones(count, dtype=torch.float64),
            torch.zeros(count, dtype=torch.float64),
        )
        for part in parts
    }
    if defence is None:
        return found
    for row in range(count):
        values = [gradients[part.name][row].view(part.parameter.shape) for part in parts]
        if _withheld(parts, values, defence):
            for part in parts:
                found[part.name].factors[row] = torch.nan
            continue
        masked = signals(parts, values, defence.plan, defence.strength)
        for part, signal in zip(parts, masked, strict=True):
            _note(found[part.name], part, row, signal)
    return found


def _reshaped(part: Part, defence: Defence | None) -> bool:
    """Whether the mask does more to a gradient than to multiply it."""
    if defence is None or defence.strength.level == "dp_scale":
        return False
    return operation_of(part, defence.plan) is Operation.UNIFORMISE


def _note(own: MaskedRows, part: Part, row: int, signal: Signal) -> None:
    own.factors[row] = signal.scale
    own.sigmas[row] = signal.sigma
    if signal.rows is not None:
        clipped = torch.zeros(part.parameter.shape)
        clipped[signal.rows] = signal.values
        own.rows[row] = clipped.reshape(-1)


def _withheld(parts: Sequence[Part], values: Sequence[Tensor], defence: Defence) -> bool:
    """Whether no size of noise follows from the gradients, since all to be hidden are zero."""
    hidden = [
        value
        for part, value in zip(parts, values, strict=True)
        if operation_of(part, defence.plan) is not Operation.OPEN
    ]
    if not hidden or defence.strength.level == "dp_scale":
        return False
    return not any(bool(value.any()) for value in hidden)
