"""Corroboration: an agent is at least as suspect as any agent that it hears."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Indices = NDArray[np.integer[Any]]


@overload
def corroborate(scores: Tensor, src: Tensor, dst: Tensor) -> Tensor: ...
@overload
def corroborate(scores: NDArray[np.float64], src: Indices, dst: Indices) -> NDArray[np.float64]: ...
def corroborate(scores: Any, src: Any, dst: Any) -> Any:
    """s^_j = max(s_j, max over edges i -> j of s_i) (FGLGuard, arXiv 2609.02967).

    One hop only: along a chain, each application carries a score one agent further.

    Args:
        scores: Scores [N], numpy or torch.
        src: Senders [E], of the same library. Self-loops change nothing.
        dst: Receivers [E].

    Returns:
        A new array [N], never lower than `scores` anywhere.
    """
    if isinstance(scores, Tensor):
        return scores.scatter_reduce(0, dst, scores[src], "amax")
    raised = scores.copy()
    np.maximum.at(raised, dst, scores[src])
    return raised
