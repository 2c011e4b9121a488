"""Corroboration: an agent is at least as suspect as any agent that it hears."""

from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = TypeVar("Array", NDArray[np.float64], NDArray[np.float32], Tensor)


def corroborate(
    scores: Array, src: Array | NDArray[np.int64], dst: Array | NDArray[np.int64]
) -> Array:
    r"""s^_j = max(s_j, max over edges i -> j of s_i) (FGLGuard, arXiv 2609.02967).

    One hop only: along a chain, each application carries a score one agent further.

    Args:
        scores: Scores [N], numpy or torch.
        src: Senders [E], of the same library. Self-loops change nothing.
        dst: Receivers [E].

    Returns:
        A new array [N], never lower than `scores` anywhere.
    """
    if isinstance(scores, Tensor):
        return scores.scatter_reduce(0, torch.as_tensor(dst).long(), scores[src], "amax")
    raised = scores.copy()
    np.maximum.at(raised, dst, scores[src])
    return raised
