r"""A matrix taken apart into one of low rank and one that is sparse.

Principal component pursuit (Candès, Li, Ma and Wright, 2011):

    min |L|_* + lambda |S|_1   so that   L + S = M,   lambda = 1 / sqrt(max(m, n))

by the inexact augmented Lagrangian method (Lin, Chen and Ma, 2010): singular values of
M - S + Y / mu are shrunk by 1 / mu, entries of M - L + Y / mu by lambda / mu, and Y takes up what
is left over while mu grows.
"""

import math

import torch
from torch import Tensor

_GROWTH = 1.5


def robust_pca(matrix: Tensor, tolerance: float = 1e-6, most: int = 60) -> tuple[Tensor, Tensor]:
    """The part of low rank and the sparse part, both [m, n].

    Args:
        matrix: M.
        tolerance: Stops when |M - L - S|_F falls below this share of |M|_F.
        most: Stops at the latest after so many rounds.
    """
    size = matrix.double()
    norm = size.norm()
    sparse = torch.zeros_like(size)
    if not norm:
        return matrix.clone(), torch.zeros_like(matrix)
    weight = 1 / math.sqrt(max(size.shape))
    top = torch.linalg.matrix_norm(size, 2)
    multiplier = size / torch.maximum(top, size.abs().max() / weight)
    penalty = 1.25 / float(top)
    low = sparse
    for _ in range(most):
        low = _shrink_values(size - sparse + multiplier / penalty, 1 / penalty)
        sparse = _shrink(size - low + multiplier / penalty, weight / penalty)
        rest = size - low - sparse
        if rest.norm() <= tolerance * norm:
            break
        multiplier = multiplier + penalty * rest
        penalty *= _GROWTH
    return low.to(matrix.dtype), sparse.to(matrix.dtype)


def low_rank_part(matrix: Tensor) -> Tensor:
    """L of `robust_pca`."""
    return robust_pca(matrix)[0]


def _shrink(values: Tensor, by: float) -> Tensor:
    shrunk: Tensor = values.sign() * (values.abs() - by).clamp_min(0)
    return shrunk


def _shrink_values(matrix: Tensor, by: float) -> Tensor:
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    kept = (values - by).clamp_min(0)
    shrunk: Tensor = (left * kept) @ right
    return shrunk
