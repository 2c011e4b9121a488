"""SCAFFOLD: control variates take the clients' drift out of their steps."""

from collections.abc import Mapping

from strategies.controlled_strategy import ControlledStrategy


class Scaffold(ControlledStrategy):
    """Clients step along g - c_k + c; the server adds up their models and moves c.

    Karimireddy et al., SCAFFOLD: Stochastic Controlled Averaging for Federated Learning, 2020,
    arXiv 1910.06378, with the global step size 1. Client rule:
    `fglguard.objectives.control_variates`; server rule for c: `ControlledStrategy`.
    """

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective with control variates."""
        return {**super().local_objective(), "objective": "scaffold"}
