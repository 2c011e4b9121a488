"""FedAvg: plain local training, clients weighed by size."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from strategies.guard_strategy import GuardStrategy
from strategies.updates import Update
from strategies.weighting import size_weights


class FedAvg(GuardStrategy):
    """theta <- sum over k of (N_k / sum of N) theta_k.

    McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data,
    2017. N_k counts graph nodes.
    """

    def weights(self, updates: Sequence[Update]) -> NDArray[np.float64]:
        """N_k / sum of N."""
        return size_weights([update.nodes for update in updates])
