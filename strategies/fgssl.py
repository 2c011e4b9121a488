"""FGSSL: clients keep the global model's relations between neighbours."""

from collections.abc import Mapping

from strategies.balanced_strategy import BalancedStrategy


class Fgssl(BalancedStrategy):
    """Clients minimise BCE + `distillation` x the edge-distribution term; models are added up.

    Huang et al., Federated Graph Semantic and Structural Learning, IJCAI 2023. The term:
    `fglguard.objectives.distillation`.
    """

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective with the term's weight and temperature."""
        return {
            **super().local_objective(),
            "objective": "fgssl",
            "distillation": self.settings.distillation,
            "temperature": self.settings.temperature,
        }
