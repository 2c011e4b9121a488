"""Pooled: not a federation but what one is compared with, everything trained in one place."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid

from strategies.balanced_strategy import BalancedStrategy
from strategies.cohort import Cohort


class Pooled(BalancedStrategy):
    """The first member trains on the union of all training episodes; a simulation only.

    A round takes exactly as many optimizer steps as all clients together would,
    sum over k of epochs * ceil(n_k / batch_size) with n_k client k's training graphs, so that a
    difference to a federated run is not one of effort. Evaluation asks every member as usual.
    """

    def local_objective(self) -> Mapping[str, float | int | str]:
        """The shared objective, on all clients' episodes."""
        return {**super().local_objective(), "pooled": True}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask the first member alone."""
        with self._first_alone():
            return list(super().configure_train(server_round, arrays, config, grid))

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord, MetricRecord]:
        """Its model is the next global one."""
        with self._first_alone():
            return super().aggregate_train(server_round, replies)

    @contextmanager
    def _first_alone(self) -> Iterator[None]:
        cohort, minimum = self.cohort, self.minimum
        self.cohort, self.minimum = Cohort(dict([next(iter(cohort))])), 1
        try:
            yield
        finally:
            self.cohort, self.minimum = cohort, minimum
