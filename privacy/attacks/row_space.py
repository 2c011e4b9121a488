r"""The space that a linear layer's gradient spans, and how far a guess at its input lies from it.

With y = W x for inputs x_1 ... x_p, the gradient is sum_i (dL/dy_i) x_i^T: each of its rows is a
combination of the inputs. If it has rank p, the inputs are the only likely texts' that lie in its
row space (DAGER, arXiv 2405.15586).

Keys are an exception. A softmax doesn't change if the same is added to all scores, so that
sum_i dL/dk_i = 0 over each query's keys: of p inputs their gradient spans the p - 1 differences,
and no input itself lies in it. Stacked on the gradients of queries or values, which read the same
input, they do no harm.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Basis = Callable[[Tensor, float], Tensor]
"""From a gradient [m, n] and the noise's sigma (0 if unknown) to an orthonormal basis [n, r]."""


def by_tolerance(tolerance: float = 1e-7) -> Basis:
    """Singular values above `tolerance` times the largest: what an undefended gradient calls for.

    Rounding to float32 leaves some 3e-8 of the largest singular value in every direction.

    A gradient of full rank spans every vector, so that it says nothing: its basis is empty.
    """

    def basis(gradient: Tensor, sigma: float) -> Tensor:
        values, vectors = _singular(gradient)
        rank = int((values > tolerance * values[0]).sum())
        return vectors[:, : 0 if rank == len(vectors) else rank]

    return basis


def by_rank(rank: int) -> Basis:
    """The `rank` largest singular values: a truncation of what noise has filled up."""

    def basis(gradient: Tensor, sigma: float) -> Tensor:
        return _singular(gradient)[1][:, :rank]

    return basis


def above_noise(gradient: Tensor, sigma: float) -> Tensor:
    r"""Singular values above sigma (sqrt m + sqrt n), the largest that noise alone has.

    Bai and Yin (1993). With sigma 0, all that are not zero by `by_tolerance`.
    """
    if not sigma:
        return by_tolerance()(gradient, sigma)
    values, vectors = _singular(gradient)
    edge = sigma * sum(math.sqrt(size) for size in gradient.shape)
    return vectors[:, : int((values > edge).sum())]


def distance(inputs: Tensor, basis: Tensor) -> Tensor:
    """Sine of the angle between inputs [..., n] and the space of a basis [n, r], [...]; 0 within.

    Nothing lies in an empty space: 1.
    """
    unit = inputs / inputs.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(inputs.dtype).tiny)
    outside: Tensor = (unit - (unit @ basis) @ basis.t()).norm(dim=-1)
    return outside


def _singular(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Singular values, the largest first, and right singular vectors in columns."""
    _, values, rows = torch.linalg.svd(gradient.double(), full_matrices=False)
    return values, rows.t().float()
