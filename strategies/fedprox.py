"""FedProx: a proximal term holds clients near the global model; domains may be balanced."""

from collections.abc import Mapping

from strategies.balanced_strategy import BalancedStrategy


class FedProx(BalancedStrategy):
    """Clients minimise BCE + (mu / 2) ||theta - theta_global||^2.

    Li et al., Federated Optimization in Heterogeneous Networks, 2020. The server's weights are
    domain-balanced or by size: `BalancedStrategy`.
    """

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective with the proximal term's mu."""
        return {**super().local_objective(), "mu": self.settings.mu}
