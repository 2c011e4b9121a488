"""What a mask exports of a gradient before noise, and the size of that noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fglguard.errors import PrivacyError
from fglguard.settings import PrivacySettings
from privacy.levels import Level, flood_sigma, largest_singular_value, row_sigma, whole_sigma
from privacy.plans import Operation, Plan, operation_of
from privacy.roles import Part

_NOISY = (Operation.UNIFORMISE, Operation.FLOOD)
_NOTHING = 1e-15
"""A gradient shorter than this counts as zero: squares of its numbers vanish in a float32."""
_TOUCHED = 1e-3
"""A row of an embedding counts as touched where it is this long beside the longest: a tied head
gives every row a little of a gradient, and float32 leaves dust where decay was taken off."""


@dataclass(frozen=True)
class Strength:
    """How strong the noise is.

    Attributes:
        level: Of the noise; at `dp_scale` the embedding's follows the same formula.
        exports: T, the number of exports that an attacker may average.
        kappa: Level `dp_scale`: signal-to-noise ratio of the whole export.
        clip: Level `dp_scale`: bound on the length of the whole export.
        kept: alpha, what the embedding's gradient is multiplied with, noise included.
        candidates: N of the level `span`.
    """

    level: Level = "bbp"
    exports: int = 1
    kappa: float = 1.0
    clip: float = 1.0
    kept: float = 1.0
    candidates: int = 30_522

    @classmethod
    def of(cls, settings: PrivacySettings, looks: int = 1) -> "Strength":
        """What a run's `privacy` settings mean.

        Args:
            settings: The run's.
            looks: How many looks at the same data one export gives: a budget of T * looks.
        """
        return cls(
            level=settings.level,
            exports=settings.exports * looks,
            kappa=settings.kappa,
            clip=settings.clip,
            kept=settings.kept,
        )


@dataclass(frozen=True, eq=False)
class Signal:
    """What is exported of one part before noise: scale * values, on some rows or on all.

    Attributes:
        operation: What is done to it.
        values: Of all rows, or of `rows` alone.
        sigma: Of the noise; 0 for none.
        rows: Where `values` stand; None: everywhere.
        scale: What they are multiplied with.
        top_ratio: As in `Masked`.
        norm_ratio: As in `Masked`.
    """

    operation: Operation
    values: Tensor
    sigma: float = 0.0
    rows: Tensor | None = None
    scale: float = 1.0
    top_ratio: float | None = None
    norm_ratio: float | None = None

    def added_to(self, noise: Tensor) -> Tensor:
        """The signal under noise, which is overwritten."""
        if self.rows is None:
            return noise.add_(self.values, alpha=self.scale)
        return noise.index_add_(0, self.rows, self.values, alpha=self.scale)


def signals(
    parts: Sequence[Part], gradients: Sequence[Tensor], plan: Plan, strength: Strength
) -> list[Signal]:
    """What a mask exports before noise, and the noise's size: all of it that is no chance.

    At `dp_scale`, all hidden parts together are clipped to the length `clip` and get one sigma.
    Else each part's noise is measured on its own gradient, and one whose gradient is zero, such as
    flow features of a site where nothing flowed, gets the noise of the quietest other part, so
    that its being zero is hidden too. An adapter's A is such a part while its B is zero, at the
    first step of every run: it has nothing to hide, and the quietest noise moves it least.

    Args:
        parts: One for each gradient, in the same order; frozen ones have none and are left out.
        gradients: float32, of the parts' shapes.
        plan: The operation for each role.
        strength: Of the noise.

    Raises:
        PrivacyError: A gradient is not finite, not float32 or of another shape, belongs to a part
            that the plan freezes, or all parts to be hidden are zero. The text names the part.
    """
    norms = [_checked_norm(part, values) for part, values in zip(parts, gradients, strict=True)]
    operations = [_operation(part, plan) for part in parts]
    if strength.level == "dp_scale":
        return _clipped_together(gradients, norms, operations, strength)
    found: list[Signal | None] = []
    for part, gradient, norm, operation in zip(parts, gradients, norms, operations, strict=True):
        if operation not in _NOISY:
            found.append(Signal(operation, gradient))
        elif norm > _NOTHING:
            found.append(_measured(part, gradient, operation, strength))
        else:
            found.append(None)
    quietest = _quietest(parts, found) if None in found else 0.0
    return [
        signal or _nothing(part, gradient, operation, strength, quietest)
        for signal, part, gradient, operation in zip(
            found, parts, gradients, operations, strict=True
        )
    ]


def _operation(part: Part, plan: Plan) -> Operation:
    operation = operation_of(part, plan)
    if operation is Operation.FREEZE:
        raise PrivacyError(
            f"{part.name} ({part.role}): the plan freezes this part, yet it has a gradient: freeze "
            f"it first"
        )
    return operation


def _clipped_together(
    gradients: Sequence[Tensor],
    norms: Sequence[float],
    operations: Sequence[Operation],
    strength: Strength,
) -> list[Signal]:
    hidden = [norm for norm, done in zip(norms, operations, strict=True) if done in _NOISY]
    scale = min(1.0, strength.clip / max(math.hypot(*hidden), 1e-30))
    sigma = whole_sigma(strength.clip, strength.kappa, strength.exports)
    most = strength.clip / sigma
    return [
        Signal(operation, gradient, sigma, None, scale, most, most)
        if operation in _NOISY
        else Signal(operation, gradient)
        for gradient, operation in zip(gradients, operations, strict=True)
    ]


def _measured(part: Part, gradient: Tensor, operation: Operation, strength: Strength) -> Signal:
    try:
        if operation is Operation.UNIFORMISE:
            return uniform(gradient, strength)
        return flooded(gradient, strength, inputs_first=part.inputs_first)
    except PrivacyError as error:
        raise PrivacyError(f"{part.name} ({part.role}): {error}") from error


def flooded(gradient: Tensor, strength: Strength, *, inputs_first: bool = False) -> Signal:
    """G under noise by `flood_sigma`.

    Args:
        gradient: [m, n], [n, m] with `inputs_first`, or a vector.
        strength: Level, T and N.
        inputs_first: Whether the weight is stored with its inputs first.
    """
    assert strength.level != "dp_scale"
    seen = gradient.t() if inputs_first and gradient.ndim == 2 else gradient
    top = largest_singular_value(gradient if gradient.ndim == 2 else gradient.reshape(1, -1))
    sigma = flood_sigma(
        seen,
        strength.level,
        candidates=strength.candidates,
        exports=strength.exports,
        top=top,
    )
    norm = float(gradient.norm())
    return Signal(Operation.FLOOD, gradient, sigma, top_ratio=top / sigma, norm_ratio=norm / sigma)


def uniform(gradient: Tensor, strength: Strength) -> Signal:
    r"""Rows alpha clip_rows(G, rho), under noise by `row_sigma(alpha rho)` on every row.

    rho is the median length of the rows that were touched. Clipping makes rows alike, so that no
    frequent token stands out. Only rows that are not zero are kept.

    Args:
        gradient: [rows, d].
        strength: alpha and T.

    Raises:
        PrivacyError: Every row is zero.
    """
    norms = torch.linalg.vector_norm(gradient, dim=1)
    rows = norms.nonzero().squeeze(1)
    if not len(rows):
        raise PrivacyError("expected a row that is not zero, got none: is the batch empty?")
    lengths = norms[rows]
    rho = lengths[lengths >= _TOUCHED * lengths.max()].median()
    kept = gradient[rows] * (strength.kept * (rho / lengths).clamp(max=1.0)).unsqueeze(1)
    sigma = row_sigma(strength.kept * rho.item(), gradient.shape[1], strength.exports)
    return Signal(
        Operation.UNIFORMISE,
        kept,
        sigma,
        rows,
        top_ratio=largest_singular_value(kept) / sigma,
        norm_ratio=float(kept.norm()) / sigma,
    )


def _quietest(parts: Sequence[Part], found: Sequence[Signal | None]) -> float:
    sigmas = [signal.sigma for signal in found if signal is not None and signal.sigma]
    if not sigmas:
        names = ", ".join(
            part.name for part, signal in zip(parts, found, strict=True) if signal is None
        )
        raise PrivacyError(
            f"every gradient to be hidden is zero ({names}), so no size of noise follows from "
            f"them: is the batch empty?"
        )
    return min(sigmas)


def _nothing(
    part: Part, gradient: Tensor, operation: Operation, strength: Strength, sigma: float
) -> Signal:
    """A zero gradient, whose record is that of one of rank one."""
    one = torch.zeros_like(gradient)
    one.view(-1)[0] = 1.0
    like = _measured(part, one, operation, strength)
    return Signal(operation, gradient, sigma, top_ratio=like.top_ratio, norm_ratio=like.top_ratio)


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
    # In double precision: over millions of entries a float32's sum falls short of the length.
    norm = float(torch.linalg.vector_norm(gradient, dtype=torch.float64))
    if not math.isfinite(norm):
        raise PrivacyError(
            f"{part.name}: the gradient holds NaN or infinity, or its length is beyond a float32's "
            f"range; nothing is exported"
        )
    return norm
