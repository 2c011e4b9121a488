"""What SCAFFOLD and FedDC share: the server's control variate."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fglguard.objectives.control_variates import CONTROL, CONTROL_CHANGE
from strategies.balanced_strategy import BalancedStrategy
from strategies.robust_aggregation import combine
from strategies.updates import FlatVector, Update


class ControlledStrategy(BalancedStrategy):
    r"""Sends c to every client and moves it by what their own control variates changed.

        c <- c + (1 / N) sum over the round's updates of (c_k+ - c_k),   c = 0 at first,

    N the cohort's size (Karimireddy et al., SCAFFOLD, 2020, arXiv 1910.06378). So c stays the plain
    mean of all c_k, those of clients that did not take part included. The mean is unweighted: where
    all c_k have settled, every client descends the gradient c of (1 / N) sum of f_k, whatever the
    aggregation's weights. With a robust `aggregation` the sum inside a domain is that rule's centre
    times the domain's number of updates. Clients keep c_k by round and go on
    from the last one that was used, so that an update that came too late moves neither c nor c_k.
    """

    exports: ClassVar[Sequence[str]] = (CONTROL_CHANGE,)
    _control: FlatVector | None = None

    def broadcast(self) -> Mapping[str, FlatVector]:
        """The control variate c, [P]."""
        return {CONTROL: self._current()}

    def state(self) -> Mapping[str, FlatVector]:
        """The control variate c, [P]; nothing before the first update."""
        return {} if self._control is None else {CONTROL: self._control}

    def restore(self, state: Mapping[str, FlatVector]) -> None:
        """Take back c."""
        self._control = state.get(CONTROL)

    def aggregate(
        self, updates: Sequence[Update], weights: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """The next global model; c moves along."""
        change = combine(
            [update.exports[CONTROL_CHANGE] for update in updates],
            np.full(len(updates), 1 / len(self.cohort)),
            [update.member.domain for update in updates],
            self.settings,
        )
        parameters = super().aggregate(updates, weights)
        self._control = self._current() + change
        return parameters

    def _current(self) -> FlatVector:
        if self._control is None:
            return np.zeros(len(self._sent), dtype=np.float32)
        return self._control
