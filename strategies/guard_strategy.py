"""What every strategy here shares: whom it asks, what it checks, when it gives up."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from fglguard.errors import FederationError, UpdateError
from fglguard.settings import StrategySettings
from strategies.admission import admit
from strategies.cohort import Cohort, Member
from strategies.robust_aggregation import combine, warn_of_few
from strategies.updates import (
    Failure,
    FlatVector,
    Update,
    pack_parameters,
    read_update,
    unpack_parameters,
)

logger = logging.getLogger("fglguard")

Result = TypeVar("Result")


class Observer(Protocol):
    """Who is told what came of each client, as it becomes known."""

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """A client's update was used with this weight."""

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A client's reply was left out."""


class GuardStrategy(Strategy):
    """A strategy over a fixed cohort.

    Every member takes part in every round. A client that raises, stays silent, or returns
    something that can't be used is logged by name and left out; with fewer than `minimum` usable
    replies the run ends. Replies are put in roster order before anything is added up.

    Args:
        cohort: The run's members.
        settings: Local training and aggregation.
        minimum: Fewest usable replies in a phase; 0 for all of the cohort.
        observer: Told of each client's result.
    """

    exports: ClassVar[Sequence[str]] = ()
    """Vectors that a client returns beside its parameters, each [P]."""

    def __init__(
        self, cohort: Cohort, settings: StrategySettings, minimum: int, observer: Observer
    ) -> None:
        self.cohort = cohort
        self.settings = settings
        self.minimum = minimum or len(cohort)
        self.observer = observer
        self._sent: FlatVector = np.empty(0, dtype=np.float32)
        self._warned: set[str] = set()

    def broadcast(self) -> Mapping[str, FlatVector]:
        """Vectors [P] that go to every client beside the global parameters."""
        return {}

    def state(self) -> Mapping[str, FlatVector]:
        """What the next round needs besides the global parameters, each [P]; checkpointed."""
        return {}

    def restore(self, state: Mapping[str, FlatVector]) -> None:
        """Take back what `state` gave."""

    @abstractmethod
    def weights(self, updates: Sequence[Update]) -> NDArray[np.float64]:
        """Aggregation weight of each update, float64 [K], adding up to 1."""

    def local_objective(self) -> Mapping[str, float | int | str]:
        """What clients must know to train under this strategy."""
        settings = self.settings
        return {
            "epochs": settings.epochs,
            "batch_size": settings.batch_size,
            "learning_rate": settings.learning_rate,
            "weight_decay": settings.weight_decay,
            "optimizer": settings.optimizer,
            "mu": 0.0,
        }

    def summary(self) -> None:
        """Log what this strategy is set to."""
        logger.info("%s over %d clients: %s", type(self).__name__, len(self.cohort), self.settings)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every member to train from the global model."""
        parameters = unpack_parameters(arrays)
        self._sent = parameters
        config = ConfigRecord({**config, **self.local_objective(), "round": server_round})
        arrays = pack_parameters(parameters, self.broadcast())
        return self._ask(MessageType.TRAIN, arrays, config)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord, MetricRecord]:
        """Weigh and add up the updates.

        Raises:
            FederationError: Fewer than `minimum` updates can be used; every client is named.
        """
        updates = self.collect(
            "train",
            server_round,
            replies,
            lambda reply, member: read_update(reply, member, len(self._sent), self.exports),
        )
        updates = [admit(update, self._sent, self.settings, server_round) for update in updates]
        weights = self.weights(updates)
        for update, weight in zip(updates, weights, strict=True):
            self.observer.trained(server_round, update, float(weight))
        arrays = pack_parameters(self.aggregate(updates, weights))
        losses = np.array([update.metrics["loss"] for update in updates])
        return arrays, MetricRecord({"loss": float(weights @ losses), "clients": len(updates)})

    def aggregate(
        self, updates: Sequence[Update], weights: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """The next global model from the updates, by `settings.aggregation`, float32 [P]."""
        domains = [update.member.domain for update in updates]
        warn_of_few(domains, self.settings, self._warned)
        return combine([update.parameters for update in updates], weights, domains, self.settings)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every member to score one of its splits with the global model."""
        config = ConfigRecord({**config, "round": server_round})
        return self._ask(MessageType.EVALUATE, arrays, config)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Count the members that answered; scores are read by the caller through `collect`."""
        answered = self.collect("evaluate", server_round, replies, lambda reply, member: reply)
        return MetricRecord({"clients": len(answered)})

    def collect(
        self,
        phase: str,
        server_round: int,
        replies: Iterable[Message],
        read: Callable[[Message, Member], Result],
    ) -> list[Result]:
        """Read the cohort's replies in roster order; tell the observer of each that fails.

        Raises:
            FederationError: Fewer than `minimum` replies can be used.
        """
        by_node: dict[int, Message] = {}
        for reply in replies:
            node = reply.metadata.src_node_id
            if node not in self.cohort:
                logger.error("%s, round %d: reply from unknown node %d", phase, server_round, node)
            elif by_node.setdefault(node, reply) is not reply:
                logger.error(
                    "%s, round %d: second reply from site %s left out",
                    phase,
                    server_round,
                    self.cohort[node].site,
                )
        results: list[Result] = []
        failures: list[Failure] = []
        for node, member in self.cohort:
            try:
                if node not in by_node:
                    raise UpdateError("no reply within the time limit")
                results.append(read(by_node[node], member))
            except UpdateError as error:
                failures.append(Failure(member, str(error)))
                self.observer.failed(phase, server_round, failures[-1])
        if len(results) < self.minimum:
            reasons = "\n".join(f"- site {f.member.site}: {f.reason}" for f in failures)
            raise FederationError(
                f"{phase}, round {server_round}: expected usable replies from at least "
                f"{self.minimum} of {len(self.cohort)} clients, got {len(results)}\n{reasons}"
            )
        return results

    def _ask(self, message_type: str, arrays: ArrayRecord, config: ConfigRecord) -> list[Message]:
        messages = []
        for node, member in self.cohort:
            # The roster's index seeds the client, so a site trains as its partition would.
            own = ConfigRecord({**config, "index": member.index})
            content = RecordDict({"arrays": arrays, "config": own})
            messages.append(Message(content, dst_node_id=node, message_type=message_type))
        return messages
