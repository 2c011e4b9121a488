"""AEGIS: masks between backward and whoever sees a gradient (arXiv 2608.19534)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fglguard.errors import PrivacyError
from privacy.levels import Level, checked_sigma, flood_sigma, largest_singular_value, row_sigma
from privacy.noise import Noise
from privacy.plans import Operation, Plan, operation_of
from privacy.roles import Part

_NOISY = (Operation.UNIFORMISE, Operation.FLOOD)


@dataclass(frozen=True)
class Strength:
    """How strong the noise is.

    Attributes:
        level: Of floods; at `dp_scale` the embedding's noise follows the same formula.
        exports: T, the number of exports that an attacker may average.
        kappa: Signal-to-noise ratio at `dp_scale`, of all parts together.
        kept: alpha, the share of the embedding's gradient that is kept.
        candidates: N of the level `span`.
    """

    level: Level = "bbp"
    exports: int = 1
    kappa: float = 1.0
    kept: float = 1.0
    candidates: int = 30_522


@dataclass(frozen=True)
class Masked:
    """What was done to one part.

    Attributes:
        name: The parameter's.
        role: The part it plays.
        operation: What was done.
        size: How many numbers it holds.
        sigma: Of the noise on each entry; 0 for none.
        top_ratio: s1 / sigma; None without noise.
        norm_ratio: |G|_F / sigma; None without noise.
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
    half masked. A part to be hidden whose gradient is zero, such as flow features of a site where
    nothing flowed, has no size of its own: it is given the noise of the quietest other part, so
    that its being zero is hidden too. An adapter's A is such a part as long as its B is zero, at
    the first step of every run: whatever was said, B^T d x^T is zero then. It has nothing to hide,
    so noise of any size is right, and the quietest moves it least from where it starts.

    At `dp_scale` the K parts that have a signal to be hidden share kappa, kappa / sqrt(K) each:
    who knows a candidate's gradient tests all parts at once, and under independent noise the
    squares of their signal-to-noise ratios add up (Neyman and Pearson).

    Args:
        parts: One for each gradient, in the same order; frozen ones have none and are left out.
        gradients: float32, of the parts' shapes.
        plan: The operation for each role.
        strength: Of the noise.
        noise: Where it comes from.

    Raises:
        PrivacyError: A gradient is not finite, not float32 or of another shape, belongs to a part
            that the plan freezes, or all parts to be hidden are zero. The text names the part.
    """
    strength = _shared(parts, gradients, plan, strength)
    masked: list[Tensor] = []
    done: list[Masked] = []
    zero: list[int] = []
    for part, gradient in zip(parts, gradients, strict=True):
        norm = _checked_norm(part, gradient)
        operation = operation_of(part, plan)
        record = Masked(part.name, str(part.role), operation, gradient.numel())
        values = gradient
        if operation in _NOISY and not norm:
            zero.append(len(done))
        else:
            try:
                values, record = _apply(part, record, gradient, norm, strength, noise)
            except PrivacyError as error:
                raise PrivacyError(f"{part.name} ({part.role}): {error}") from error
        masked.append(values)
        done.append(record)
    if zero:
        sigma = _quietest(parts, done, zero)
    for place in zero:
        masked[place] = noise.fill(torch.empty_like(gradients[place]), sigma)
        done[place] = replace(done[place], sigma=sigma, top_ratio=0.0, norm_ratio=0.0)
    return masked, done


def _shared(
    parts: Sequence[Part], gradients: Sequence[Tensor], plan: Plan, strength: Strength
) -> Strength:
    if strength.level != "dp_scale":
        return strength
    hidden = sum(
        operation_of(part, plan) in _NOISY and bool(gradient.norm())
        for part, gradient in zip(parts, gradients, strict=True)
    )
    return replace(strength, kappa=strength.kappa / math.sqrt(max(hidden, 1)))


def _quietest(parts: Sequence[Part], done: Sequence[Masked], zero: Sequence[int]) -> float:
    sigmas = [record.sigma for record in done if record.sigma]
    if not sigmas:
        names = ", ".join(parts[place].name for place in zero)
        raise PrivacyError(
            f"every gradient to be hidden is zero ({names}), so no size of noise follows from "
            f"them: is the batch empty?"
        )
    return min(sigmas)


def _apply(
    part: Part, record: Masked, gradient: Tensor, norm: float, strength: Strength, noise: Noise
) -> tuple[Tensor, Masked]:
    operation = record.operation
    if operation is Operation.OPEN:
        return gradient, record
    if operation is Operation.FREEZE:
        raise PrivacyError("the plan freezes this part, yet it has a gradient: freeze it first")
    top = largest_singular_value(gradient if gradient.ndim == 2 else gradient.reshape(1, -1))
    if operation is Operation.UNIFORMISE:
        values, sigma = uniformise(gradient, strength, noise)
    else:
        turned = part.inputs_first
        values, sigma = flood(gradient, strength, noise, inputs_first=turned, top=top)
    return values, replace(record, sigma=sigma, top_ratio=top / sigma, norm_ratio=norm / sigma)


def flood(
    gradient: Tensor,
    strength: Strength,
    noise: Noise,
    *,
    inputs_first: bool = False,
    top: float | None = None,
) -> tuple[Tensor, float]:
    """G + sigma Z with sigma by `flood_sigma`, and sigma.

    Args:
        gradient: [m, n], [n, m] with `inputs_first`, or a vector.
        strength: Level, T, kappa and N.
        noise: Draws Z.
        inputs_first: Whether the weight is stored with its inputs first.
        top: s1 of the gradient, where it is known already.
    """
    seen = gradient.t() if inputs_first and gradient.ndim == 2 else gradient
    sigma = flood_sigma(
        seen,
        strength.level,
        kappa=strength.kappa,
        candidates=strength.candidates,
        exports=strength.exports,
        top=top,
    )
    masked = noise.fill(torch.empty_like(gradient), sigma)
    return masked.add_(gradient), sigma


def uniformise(gradient: Tensor, strength: Strength, noise: Noise) -> tuple[Tensor, float]:
    r"""Masked rows alpha clip_rows(G, rho) + sigma Z over every row, and sigma.

    rho is the median norm of the rows that are not zero. Clipping makes rows alike, so that no
    frequent token stands out; sigma is `row_sigma(alpha rho)`, or at `dp_scale` the norm of what
    is kept over kappa. Only rows that are not zero are read; noise is drawn once, in place.

    Args:
        gradient: [rows, d].
        strength: alpha, T, level and kappa.
        noise: Draws Z.

    Raises:
        PrivacyError: Every row is zero.
    """
    norms = torch.linalg.vector_norm(gradient, dim=1)
    rows = norms.nonzero().squeeze(1)
    if not len(rows):
        raise PrivacyError("expected a row that is not zero, got none: is the batch empty?")
    rho = norms[rows].median()
    kept = gradient[rows] * (strength.kept * (rho / norms[rows]).clamp(max=1.0)).unsqueeze(1)
    if strength.level == "dp_scale":
        sigma = checked_sigma(kept.norm().item() / strength.kappa * math.sqrt(strength.exports))
    else:
        sigma = row_sigma(strength.kept * rho.item(), gradient.shape[1], strength.exports)
    masked = noise.fill(torch.empty_like(gradient), sigma)
    return masked.index_add_(0, rows, kept), sigma


def _checked_norm(part: Part, gradient: Tensor) -> float:
    """|G|_F, which is finite only if every number is: one pass both measures and checks."""
    if gradient.shape != part.parameter.shape:
        raise PrivacyError(
            f"{part.name}: expected a gradient of shape {tuple(part.parameter.shape)}, got "
            f"{tuple(gradient.shape)}"
        )
    if gradient.dtype != torch.float32:
        raise PrivacyError(
            f"{part.name}: expected a float32 gradient, got {gradient.dtype}: noise of the right "
            f"size would be rounded away; cast the gradient first"
        )
    norm = float(gradient.norm())
    if not math.isfinite(norm):
        raise PrivacyError(
            f"{part.name}: the gradient holds NaN or infinity, or its length is beyond a float32's "
            f"range; nothing is exported"
        )
    return norm
