"""FedProx: a proximal term holds clients near the global model; domains may be balanced."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from strategies.guard_strategy import GuardStrategy
from strategies.updates import Update
from strategies.weighting import domain_balanced_weights, size_weights


class FedProx(GuardStrategy):
    """Clients minimise BCE + (mu / 2) ||theta - theta_global||^2.

    Li et al., Federated Optimization in Heterogeneous Networks, 2020. With `balanced`, the server
    weighs every domain alike: theta <- sum over k of alpha_k theta_k,
    alpha_k = (1 / D) N_k / (sum of N in k's domain). FGLGuard, arXiv 2609.02967.
    """

    def weights(self, updates: Sequence[Update]) -> NDArray[np.float64]:
        """Domain-balanced weights, or size weights where `balanced` is off."""
        nodes = [update.nodes for update in updates]
        if not self.settings.balanced:
            return size_weights(nodes)
        return domain_balanced_weights([update.member.domain for update in updates], nodes)

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective with the proximal term's mu."""
        return {**super().local_objective(), "mu": self.settings.mu}
