"""Pooled: not a federation but what one is compared with, everything trained in one place."""

from collections.abc import Mapping

from strategies.balanced_strategy import BalancedStrategy
from strategies.updates import Update


class Pooled(BalancedStrategy):
    """The first member trains on the union of all training episodes; a simulation only.

    A round takes exactly as many optimizer steps as all clients together would,
    sum over k of epochs * ceil(n_k / batch_size) with n_k client k's training graphs, so that a
    difference to a federated run is not one of effort. Evaluation asks every member as usual.
    """

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective, on all clients' episodes."""
        return {**super().local_objective(), "pooled": True}

    def asked(self, server_round: int, attempt: int) -> list[int]:
        """The first member alone."""
        return [min(member.index for _, member in self.cohort)]

    def admitted(self, server_round: int, update: Update) -> Update:
        """Taken as it is: it trained on more than the roster's cap for one site knows of."""
        return update
