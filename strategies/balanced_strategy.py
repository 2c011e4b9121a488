"""Strategies that weigh domains alike, or clients by size where the settings say so."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from strategies.guard_strategy import GuardStrategy
from strategies.updates import Update
from strategies.weighting import domain_balanced_weights, size_weights


class BalancedStrategy(GuardStrategy):
    """Weighs every domain alike: theta <- sum over k of alpha_k theta_k.

    alpha_k = (1 / D) N_k / (sum of N in k's domain). FGLGuard, arXiv 2609.02967.
    """

    def weights(self, updates: Sequence[Update]) -> NDArray[np.float64]:
        """Domain-balanced weights, or size weights where `balanced` is off."""
        nodes = [update.nodes for update in updates]
        if not self.settings.balanced:
            return size_weights(nodes)
        return domain_balanced_weights([update.member.domain for update in updates], nodes)
