"""FedDC's local drift: a client learns how far it strays and is corrected by it."""

import numpy as np
from numpy.typing import NDArray

from fglguard.detector import Detector
from fglguard.objectives.control_variates import ControlVariates
from fglguard.objectives.objective import Hide, Outcome, Pull, unmasked
from fglguard.objectives.trainable import FlatVector, trainable_parts
from fglguard.packed_graphs import PackedGraphs

DRIFT = "drift"
"""The client's drift h_k, as kept."""

CORRECTED = "corrected"
"""theta_k + h_k+, as exported."""


class DriftCorrection(ControlVariates):
    r"""Local drift decoupling and correction (Gao et al., FedDC, CVPR 2022, arXiv 2203.11751).

    With w the global model, h_k the client's drift, and c, c_k the control variates of SCAFFOLD, a
    client minimises

        BCE + (alpha / 2) ||theta + h_k - w||^2 + <theta, c - c_k>,

    then h_k+ = h_k + (theta_k - w). The penalty is a proximal pull towards w - h_k, so it takes the
    same step apart from the optimizer as FedProx's; the inner product adds c - c_k to the gradient.
    The client exports theta_k + h_k+.

    What differs from the authors' published code: (1) c_k+ is the mean of the gradients of BCE, as
    in `ControlVariates`, where theirs, taken from theta_k - w, also holds the penalty's and the
    weight decay's; (2) alpha and c are the same for every client, where theirs divide both by the
    client's relative size; (3) the penalty does not pass through the optimizer's normaliser.

    Args:
        alpha: Strength of the drift penalty.
        parameters: w, float32 [P].
        server: c, float32 [P].
        own: c_k, float32 [P].
        drift: h_k, float32 [P].
    """

    kept = (*ControlVariates.kept, DRIFT)

    def __init__(
        self,
        alpha: float,
        parameters: FlatVector,
        server: FlatVector,
        own: FlatVector,
        drift: FlatVector,
    ) -> None:
        super().__init__(server, own)
        self._alpha = alpha
        self._global, self._drift = parameters, drift

    def begin(self, detector: Detector, packed: PackedGraphs, chosen: NDArray[np.int64]) -> None:
        """Anchor the pull at w - h_k."""
        super().begin(detector, packed, chosen)
        self.pull = Pull(self._alpha, trainable_parts(detector, self._global - self._drift))

    def finish(self, detector: Detector, parameters: FlatVector, hide: Hide = unmasked) -> Outcome:
        """Export theta_k + h_k+ beside the control variate's change; keep h_k+."""
        controls = super().finish(detector, parameters, hide)
        drift = self._drift + (parameters - self._global)
        return Outcome(
            {**controls.exports, CORRECTED: parameters + drift}, {**controls.state, DRIFT: drift}
        )
