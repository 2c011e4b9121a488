"""AEGIS: masks between backward and whoever sees a gradient (arXiv 2608.19534)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from privacy.noise import Noise
from privacy.plans import Operation, Plan, operation_of
from privacy.roles import Part
from privacy.signals import Signal, Strength, signals

_GRID = 2.0**-9
"""Of sigma, rounded down to a power of two: what masked numbers are multiples of."""


@dataclass(frozen=True)
class Masked:
    """What was done to one part.

    Attributes:
        name: The parameter's.
        role: The part it plays.
        operation: What was done.
        size: How many numbers it holds.
        sigma: Of the noise on each entry; 0 for none.
        top_ratio: s1 / sigma of what the noise hides; None without noise. The largest possible
            value where the true one is a secret: at `dp_scale`, and of a gradient of zero.
        norm_ratio: |G|_F / sigma, likewise.
    """

    name: str
    role: str
    operation: Operation
    size: int
    sigma: float = 0.0
    top_ratio: float | None = None
    norm_ratio: float | None = None


def freeze(parts: Sequence[Part], plan: Plan) -> None:
    """Stop the gradients of the parts that a plan freezes from being computed at all."""
    for part in parts:
        if operation_of(part, plan) is Operation.FREEZE:
            part.parameter.requires_grad_(False)


def mask(
    parts: Sequence[Part],
    gradients: Sequence[Tensor],
    plan: Plan,
    strength: Strength,
    noise: Noise,
) -> tuple[list[Tensor], list[Masked]]:
    """Masked gradients, or masked changes of parameters, and what was done to each.

    The gradients given are left as they are. Whatever goes wrong raises: no gradient is returned
    half masked.

    Args:
        parts: One for each gradient, in the same order; frozen ones have none and are left out.
        gradients: float32, of the parts' shapes.
        plan: The operation for each role.
        strength: Of the noise.
        noise: Where it comes from.

    Raises:
        PrivacyError: As `signals` does.
    """
    masked: list[Tensor] = []
    done: list[Masked] = []
    found = signals(parts, gradients, plan, strength)
    for part, gradient, signal in zip(parts, gradients, found, strict=True):
        values = cover(signal, gradient, noise) if signal.sigma else gradient
        masked.append(values)
        done.append(
            Masked(
                part.name,
                str(part.role),
                signal.operation,
                gradient.numel(),
                signal.sigma,
                signal.top_ratio,
                signal.norm_ratio,
            )
        )
    return masked, done


def cover(signal: Signal, gradient: Tensor, noise: Noise) -> Tensor:
    r"""Noise and signal, rounded to multiples of a public step of about sigma / 512.

    Noise made of machine numbers can only take some values, signal plus noise takes others, and
    from the last bits one could tell which numbers hold a signal (Mironov, 2012). Adding and
    taking off 1.5 * 2^23 steps rounds a float32 to whole steps.
    """
    empty = torch.empty_like(gradient, memory_format=torch.contiguous_format)
    covered = signal.added_to(noise.fill(empty, signal.sigma))
    step = 2.0 ** math.floor(math.log2(signal.sigma)) * _GRID
    return covered.add_(1.5 * 2**23 * step).sub_(1.5 * 2**23 * step)
