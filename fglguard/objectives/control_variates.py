"""SCAFFOLD's control variates: each local gradient corrected by how this client's differ."""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fglguard.detector import Detector
from fglguard.objectives.objective import Gradients, Hide, Objective, Outcome, unmasked
from fglguard.objectives.trainable import FlatVector, join_parts, trainable_parts
from fglguard.packed_graphs import PackedGraphs

CONTROL = "control"
"""The server's control variate c, as broadcast; the client's own c_k, as kept."""

CONTROL_CHANGE = "control_change"
"""c_k+ - c_k, as exported."""


class ControlVariates(Objective):
    r"""Local steps along g - c_k + c (Karimireddy et al., SCAFFOLD, 2020, arXiv 1910.06378).

    c_k estimates this client's gradient and c the average client's, so the sum is the average
    client's gradient at less variance and without the client's drift. After the K steps of a round

        c_k+ = (1 / K) sum over its steps of g,

    g the stochastic gradients of BCE as they came, before any correction. For plain SGD this is
    the paper's option II: from x, K steps y <- y - lr (g - c_k + c) give
    x - y = lr (sum of g) - K lr (c_k - c), hence

        c_k - c + (x - y) / (K lr) = c_k - c + (sum of g) / K - c_k + c = c_k+.

    Under Adam, whose step is no multiple of the gradient, (x - y) / (K lr) is about +-1 in every
    coordinate and says nothing about gradients; the mean of the gradients still does. Weight decay
    stays out of it too. A client's first c_k is 0, as the server's first c.

    Args:
        server: c, float32 [P].
        own: c_k, float32 [P].
    """

    received = (CONTROL,)
    kept: ClassVar[tuple[str, ...]] = (CONTROL,)
    further = 1

    def __init__(self, server: FlatVector, own: FlatVector) -> None:
        self._server, self._own = server, own
        self._correction: list[Tensor] = []
        self._total: list[Tensor] = []
        self._steps = 0

    def begin(self, detector: Detector, packed: PackedGraphs, chosen: NDArray[np.int64]) -> None:
        """Cut c - c_k into the parameters' shapes."""
        self._correction = trainable_parts(detector, self._server - self._own)
        self._total = [torch.zeros_like(part) for part in self._correction]

    def correct(self, gradients: Gradients) -> Gradients:
        """Give g - c_k + c; g is added to the running sum."""
        torch._foreach_add_(self._total, gradients)
        self._steps += 1
        return torch._foreach_add(gradients, self._correction)

    def finish(self, detector: Detector, parameters: FlatVector, hide: Hide = unmasked) -> Outcome:
        """Export c_k+ - c_k, and keep the c_k+ that the server can add up.

        What is masked is c_k+, since the server knows c_k, a sum of what was exported: the noise of
        earlier rounds in it must not pass for a signal that more noise has to hide.
        """
        mean = torch._foreach_div(self._total, float(self._steps))
        change = hide(join_parts(detector, mean)) - self._own
        return Outcome({CONTROL_CHANGE: change}, {CONTROL: self._own + change})
