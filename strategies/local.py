"""Local: not a federation but what one is compared with, every client on its own."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message
from flwr.serverapp import Grid
from numpy.typing import NDArray

from fglguard.settings import RunSettings
from strategies.balanced_strategy import BalancedStrategy
from strategies.cohort import Cohort
from strategies.guard_strategy import Observer
from strategies.updates import FlatVector, Update, pack_parameters


class Local(BalancedStrategy):
    """Each client goes on from its own model; nothing is shared. A client's effort is a round's.

    The server keeps the models between rounds, so that each can be evaluated on every domain: an
    arm for comparison, which a real consortium has no use for.

    Attributes:
        models: By site, its own model, float32 [P]; those that have trained.
    """

    def __init__(self, cohort: Cohort, settings: RunSettings, observer: Observer) -> None:
        super().__init__(cohort, settings, observer)
        self.models: dict[str, FlatVector] = {}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask a sample of the members to go on from their own models."""
        messages = list(super().configure_train(server_round, arrays, config, grid))
        for message in messages:
            site = self.cohort[message.metadata.dst_node_id].site
            if site in self.models:
                message.content["arrays"] = pack_parameters(self.models[site])
        return messages

    def admitted(self, server_round: int, update: Update) -> Update:
        """Taken as it is: nobody else's model depends on it."""
        return update

    def aggregate(
        self, updates: Sequence[Update], weights: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Keep each model; the initial one stays what a newcomer starts from."""
        self.models |= {update.member.site: update.parameters for update in updates}
        return self._sent

    def state(self) -> Mapping[str, FlatVector]:
        """Every site's own model, by site."""
        return self.models

    def restore(self, state: Mapping[str, FlatVector]) -> None:
        """Take back every site's own model."""
        self.models = dict(state)
