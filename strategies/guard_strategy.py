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

from fglguard.errors import QuorumError, UpdateError
from fglguard.settings import RunSettings
from strategies.admission import admit
from strategies.cohort import Cohort, Member
from strategies.nonce import nonce
from strategies.robust_aggregation import combine, warn_of_few
from strategies.sampling import (
    SIMULATED_SECONDS,
    clients_asked,
    clients_needed,
    draw_clients,
    first_to_finish,
)
from strategies.senders import sender_of
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

MALFORMED = (ArithmeticError, AttributeError, EOFError, LookupError, TypeError, ValueError)
"""What reading a reply may raise whose records are not what a client of ours makes."""

WHOLE_REASONS = 3
"""So many failures are told in full when a phase fails; the observer is told all of each."""


class Observer(Protocol):
    """Who is told what came of each client, as it becomes known."""

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """A client's update was used with this weight."""

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A client's reply was left out."""

    def surplus(self, server_round: int, update: Update) -> None:
        """A client's update was usable, but enough others had finished before it."""


class GuardStrategy(Strategy):
    """A strategy over a fixed cohort.

    A round of training needs m = max(1, ceil(fraction * K)) updates of the K members and asks a
    few more where `over_selection` says so; the first m to finish count, a simulation's by its
    simulated seconds, a deployment's by arrival. Evaluation asks everyone. A client that raises,
    stays silent, or returns something that can't be used is logged by name and left out; with
    fewer than `minimum_clients` usable replies the phase fails (0, or more than the phase needs:
    with fewer than it needs). Replies are put in roster order before anything is added up.

    Args:
        cohort: The run's members.
        settings: The run's; `settings.strategy` is kept as `self.settings`.
        observer: Told of each client's result.

    Attributes:
        used: The last round in which each site's update was used, by site. A client goes on from
            what it kept then, so that an update that came too late leaves no trace.
        unusable: By phase and site, why its last reply in that phase couldn't be used.
    """

    exports: ClassVar[Sequence[str]] = ()
    """Vectors that a client returns beside its parameters, each [P]."""

    def __init__(self, cohort: Cohort, settings: RunSettings, observer: Observer) -> None:
        self.cohort = cohort
        self.settings = settings.strategy
        self.federation = settings.federation
        self.seed = settings.seed
        self.observer = observer
        self.needed = clients_needed(len(cohort), self.federation.fraction)
        self._simulated = not self.federation.roster
        self._deadline = settings.faults.deadline
        self._sent: FlatVector = np.empty(0, dtype=np.float32)
        self._asked: dict[int, Member] = {}
        self._messages: list[Message] = []
        self._needed_now = 0
        self._arrival: dict[int, int] = {}
        self._warned: set[str] = set()
        self.used: dict[str, int] = {}
        self.unusable: dict[tuple[str, str], str] = {}

    def broadcast(self) -> Mapping[str, FlatVector]:
        """Vectors [P] that go to every client beside the global parameters."""
        return {}

    def state(self) -> Mapping[str, FlatVector]:
        """What the next round needs besides the global parameters, each [P]; checkpointed."""
        return {}

    def restore(self, state: Mapping[str, FlatVector]) -> None:
        """Take back what `state` gave."""

    def asked(self, server_round: int, attempt: int) -> list[int]:
        """Roster indices of the members that an attempt at a round of training asks, ascending.

        A round that is tried again draws another sample: a site that is down for longer does not
        spoil every attempt.
        """
        present = [member.index for _, member in self.cohort]
        count = clients_asked(len(present), self.needed, self.federation.over_selection)
        return draw_clients(present, count, self.seed, server_round, attempt)

    def admitted(self, server_round: int, update: Update) -> Update:
        """The update as it counts: its node count capped, its length bounded."""
        return admit(update, self._sent, self.settings, server_round)

    @abstractmethod
    def weights(self, updates: Sequence[Update]) -> NDArray[np.float64]:
        """Aggregation weight of each update, float64 [K], adding up to 1."""

    def local_objective(self) -> Mapping[str, float | int | str]:
        """What clients must know to train under this strategy."""
        settings = self.settings
        return {
            "epochs": settings.epochs,
            "steps": settings.steps,
            "batch_size": settings.batch_size,
            "learning_rate": settings.learning_rate,
            "weight_decay": settings.weight_decay,
            "optimizer": settings.optimizer,
            "mu": 0.0,
        }

    def summary(self) -> None:
        """Log what this strategy is set to."""
        logger.info(
            "%s over %d clients, %d a round: %s",
            type(self).__name__,
            len(self.cohort),
            self.needed,
            self.settings,
        )

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask a sample of the members to train from the global model.

        `config` may hold `attempt`, which counts from 0 how often the round was tried before.
        """
        parameters = unpack_parameters(arrays)
        self._sent = parameters
        attempt = int(config.get("attempt", 0))  # type: ignore[arg-type]
        config = ConfigRecord(
            {**config, **self.local_objective(), "round": server_round, "attempt": attempt}
        )
        arrays = pack_parameters(parameters, self.broadcast())
        asked = set(self.asked(server_round, attempt))
        return self._ask(MessageType.TRAIN, arrays, config, asked, self.needed)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord, MetricRecord]:
        """Weigh and add up the updates.

        Raises:
            QuorumError: Too few updates can be used; every client is named.
        """
        usable = self.collect("train", server_round, replies, self._read_update)
        updates = [
            self.admitted(server_round, update) for update in self._first(server_round, usable)
        ]
        weights = self.weights(updates)
        for update, weight in zip(updates, weights, strict=True):
            self.observer.trained(server_round, update, float(weight))
            self.used[update.member.site] = server_round
        arrays = pack_parameters(self.aggregate(updates, weights))
        figures = MetricRecord({"clients": len(updates)})
        if all("loss" in update.metrics for update in updates):
            losses = np.array([update.metrics["loss"] for update in updates])
            figures["loss"] = float((weights * losses).sum())
        return arrays, figures

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
        everyone = {member.index for _, member in self.cohort}
        return self._ask(MessageType.EVALUATE, arrays, config, everyone, len(everyone))

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
        """Read the replies of those asked in roster order; tell the observer of each that fails.

        Raises:
            QuorumError: Too few replies can be used.
        """
        by_node = self._by_node(phase, server_round, replies)
        self._arrival = {self.cohort[node].index: place for place, node in enumerate(by_node)}
        results: list[Result] = []
        failures: list[Failure] = []
        for node, member in self._asked.items():
            try:
                if node not in by_node:
                    raise UpdateError("no reply within the time limit")
                results.append(read(by_node[node], member))
                self.unusable.pop((phase, member.site), None)
            except MALFORMED as error:
                logger.exception("%s, round %d: site %s", phase, server_round, member.site)
                reason = f"its reply is malformed ({type(error).__name__}: {str(error)[:200]})"
                failures.append(Failure(member, reason))
                self.observer.failed(phase, server_round, failures[-1])
            except UpdateError as error:
                failures.append(Failure(member, str(error)))
                self.observer.failed(phase, server_round, failures[-1])
        self.unusable |= {(phase, one.member.site): one.reason for one in failures}
        minimum = min(self.federation.minimum_clients or self._needed_now, self._needed_now)
        if len(results) < minimum:
            raise QuorumError(
                f"{phase}, round {server_round}: expected usable replies from at least "
                f"{minimum} of {len(self._asked)} clients, got {len(results)}\n{_reasons(failures)}"
            )
        return results

    def _by_node(
        self, phase: str, server_round: int, replies: Iterable[Message]
    ) -> dict[int, Message]:
        by_node: dict[int, Message] = {}
        for reply in replies:
            node = sender_of(reply, self._messages)
            if node not in self._asked:
                logger.error(
                    "%s, round %d: reply from node %d, which was not asked",
                    phase,
                    server_round,
                    node,
                )
            elif by_node.setdefault(node, reply) is not reply:
                logger.error(
                    "%s, round %d: second reply from site %s left out",
                    phase,
                    server_round,
                    self._asked[node].site,
                )
        return by_node

    def _read_update(self, reply: Message, member: Member) -> Update:
        update = read_update(reply, member, len(self._sent), self.exports)
        if self._simulated and self._deadline:
            seconds = update.metrics.get(SIMULATED_SECONDS, 0.0)
            if seconds > self._deadline:
                raise UpdateError(
                    f"finished after {seconds:g} s, the deadline was {self._deadline:g} s"
                )
        return update

    def _first(self, server_round: int, updates: Sequence[Update]) -> list[Update]:
        """Those that count: the first `needed` to finish, in roster order."""
        finished = []
        for update in updates:
            index = update.member.index
            # Only a simulation's word is taken for when it finished: a site could claim 0 s.
            simulated = update.metrics.get(SIMULATED_SECONDS, 0.0)
            finished.append((simulated if self._simulated else self._arrival[index], index))
        places = first_to_finish(finished, self._needed_now)
        for place in sorted(set(range(len(updates))) - set(places)):
            self.observer.surplus(server_round, updates[place])
        return [updates[place] for place in places]

    def _ask(
        self,
        message_type: str,
        arrays: ArrayRecord,
        config: ConfigRecord,
        asked: set[int],
        needed: int,
    ) -> list[Message]:
        self._asked = {node: member for node, member in self.cohort if member.index in asked}
        self._needed_now = min(needed, len(self._asked))
        messages = []
        for node, member in self._asked.items():
            # The roster's index seeds the client, so a site trains as its partition would.
            since = self.used.get(member.site, 0)
            own = ConfigRecord({**config, "index": member.index, "since": since, "nonce": nonce()})
            content = RecordDict({"arrays": arrays, "config": own})
            messages.append(Message(content, dst_node_id=node, message_type=message_type))
        self._messages = messages
        return messages


def _reasons(failures: Sequence[Failure]) -> str:
    """A line a client; the first few in full, with a simulated client's traceback."""
    lines = []
    for place, failure in enumerate(failures):
        reason = failure.reason
        told = reason if place < WHOLE_REASONS else reason.partition("\n")[0]
        lines.append(f"- site {failure.member.site}: {told}")
    return "\n".join(lines)
