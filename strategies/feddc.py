"""FedDC: clients learn their drift and send models corrected by it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fglguard.objectives.control_variates import CONTROL_CHANGE
from fglguard.objectives.drift import CORRECTED
from strategies.admission import bounded
from strategies.controlled_strategy import ControlledStrategy
from strategies.updates import FlatVector, Update


class FedDC(ControlledStrategy):
    """w <- sum over k of alpha_k (theta_k + h_k+), h_k+ = h_k + (theta_k - w).

    Gao et al., FedDC: Federated Learning with Non-IID Data via Local Drift Decoupling and
    Correction, CVPR 2022, arXiv 2203.11751. Client rule: `fglguard.objectives.drift`. As in the
    paper's algorithm the sum runs over the round's participants, theta_k and drift with the same
    weight; the authors' published code instead adds the plain mean of theta_k over participants and
    the plain mean of the drift over all clients.
    """

    exports = (CONTROL_CHANGE, CORRECTED)

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective with control variates and the drift penalty's strength."""
        return {
            **super().local_objective(),
            "objective": "feddc",
            "drift": self.settings.drift,
        }

    def aggregate(
        self, updates: Sequence[Update], weights: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """The next global model from the corrected models; c moves along."""
        corrected = [
            replace(update, parameters=self._within_bound(update.exports[CORRECTED]))
            for update in updates
        ]
        return super().aggregate(corrected, weights)

    def _within_bound(self, corrected: FlatVector) -> FlatVector:
        if not self.settings.norm_bound:
            return corrected
        return bounded(corrected, self._sent, self.settings.norm_bound)[0]
