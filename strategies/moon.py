"""MOON: clients keep their view of a graph near the global model's."""

from collections.abc import Mapping

from strategies.balanced_strategy import BalancedStrategy


class Moon(BalancedStrategy):
    """Clients minimise BCE + `contrast` x the model-contrastive term; the server adds up models.

    Li et al., Model-Contrastive Federated Learning, CVPR 2021, arXiv 2103.16257. The term:
    `fglguard.objectives.contrast`.
    """

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective with the term's weight and temperature."""
        return {
            **super().local_objective(),
            "objective": "moon",
            "contrast": self.settings.contrast,
            "temperature": self.settings.temperature,
        }
