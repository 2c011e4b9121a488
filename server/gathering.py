"""Before round 1: wait for the clients, ask who they are, and check them against the roster."""

import logging
import time
from collections.abc import Iterable, Sequence

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

import fglguard
from fglguard.episode_rules import SCHEMA
from fglguard.errors import FederationError
from fglguard.settings import FederationSettings, RunSettings
from server.enrolment import Gathered, ImpersonationError, LeftOut, identify
from server.roster import Roster
from strategies.cohort import Cohort, Member
from strategies.guard_strategy import MALFORMED
from strategies.nonce import nonce
from strategies.senders import sender_of

logger = logging.getLogger("fglguard")

POLL_SECONDS = 0.5


def gather(grid: Grid, roster: Roster, settings: RunSettings, encoder_fingerprint: str) -> Gathered:
    """Query the connected nodes, check what they answer, and say who takes part.

    A client that fails or says nothing is left out, as long as `federation.minimum_clients` remain.
    Where the roster binds node ids, only its nodes are asked, and one that does not fit (another's
    name, another domain, schema, version or encoder) is left out too: no site can stop the others.
    Where it doesn't, whoever is connected is asked, and one that does not fit stops the run.

    Raises:
        FederationError: Too few clients are there within `federation.connect_timeout`, answer or
            fit; the text names each that is missing.
    """
    federation = settings.federation
    nodes, strangers = _wait_for_nodes(grid, roster, federation)
    queries = _queries(nodes, encoder_fingerprint)
    replies = {
        sender_of(reply, queries): reply
        for reply in grid.send_and_receive(queries, timeout=federation.timeout)
    }
    enrolment = _Enrolment(roster, encoder_fingerprint, federation)
    for node in strangers:
        enrolment.leave_out(f"node {node} is connected and not on the roster", node)
    for node, reply in replies.items():
        if node in nodes:
            enrolment.read(node, reply)
        else:
            logger.error("query: reply from node %d, which was not asked", node)
    enrolment.name_silent(nodes, set(nodes) - set(replies))
    enrolment.require_enough()
    for one in enrolment.left_out:
        logger.warning("going on without it: %s", one.reason)
    return Gathered(
        Cohort(enrolment.members),
        enrolment.sizes,
        enrolment.left_out,
        frozenset(enrolment.want_guard),
    )


def _queries(nodes: Iterable[int], encoder_fingerprint: str) -> list[Message]:
    wanted = {
        "schema": SCHEMA,
        "encoder_fingerprint": encoder_fingerprint,
        "version": fglguard.__version__,
    }
    return [
        Message(
            RecordDict({"config": ConfigRecord({**wanted, "nonce": nonce()})}),
            dst_node_id=node,
            message_type=MessageType.QUERY,
        )
        for node in nodes
    ]


class _Enrolment:
    """What the answers come to.

    Attributes:
        members: Who takes part, by node id.
        sizes: What each of them holds, by site.
        left_out: Who doesn't.
        want_guard: Sites among the members that want the guard at the end.
        mismatches: What stops a run whose roster binds no nodes.
    """

    def __init__(
        self, roster: Roster, encoder_fingerprint: str, settings: FederationSettings
    ) -> None:
        self._roster = roster
        self._by_node = roster.by_node
        self._fingerprint = encoder_fingerprint
        self._settings = settings
        self.members: dict[int, Member] = {}
        self.sizes: dict[str, dict[str, int]] = {}
        self.left_out: list[LeftOut] = []
        self.want_guard: set[str] = set()
        self.mismatches: list[str] = []

    def leave_out(self, reason: str, node: int = 0, claimed: str = "") -> None:
        member = self._by_node.get(node)
        self.left_out.append(LeftOut(reason, member.site if member else "", node, claimed))

    def read(self, node: int, reply: Message) -> None:
        who = self._name(node)
        if reply.has_error():
            self.leave_out(f"{who} failed: {reply.error.reason}", node)
            return
        try:
            member = identify(reply, self._roster, self._fingerprint)
            if member.site in self.sizes:
                raise FederationError(f"site {member.site}: two nodes answer to this name")
            size = {key: int(value) for key, value in reply.content["metrics"].items()}
            wants = reply.content["site"].get("wants_guard", False) is True
        except MALFORMED as error:
            logger.exception("query: node %d", node)
            self.leave_out(
                f"{who}: its answer is malformed ({type(error).__name__}: {error})", node
            )
        except ImpersonationError as error:
            self.leave_out(str(error), node, error.claimed)
        except FederationError as error:
            if self._by_node:
                self.leave_out(f"{who}: {error}", node)
            else:
                self.mismatches.append(str(error))
        else:
            self.members[node] = member
            self.sizes[member.site] = size
            if wants:
                self.want_guard.add(member.site)

    def name_silent(self, asked: Sequence[int], silent: set[int]) -> None:
        """Say of each that is missing who it is, as far as the roster knows."""
        if self._by_node:
            for node in self._by_node:
                if node not in asked:
                    self.leave_out(f"{self._name(node)} is not connected", node)
                elif node in silent:
                    limit = f"{self._settings.timeout:g} s"
                    self.leave_out(f"{self._name(node)} did not answer within {limit}", node)
            return
        if silent:
            self.leave_out(f"{len(silent)} clients did not answer the query")
        if self._settings.roster and not self.mismatches:
            for member in self._roster.members:
                told = any(f"site {member.site}" in one.reason for one in self.left_out)
                if member.site not in self.sizes and not told:
                    reason = f"site {member.site} of the roster is not there"
                    self.left_out.append(LeftOut(reason, member.site))

    def require_enough(self) -> None:
        minimum = self._settings.minimum_clients or self._settings.clients
        if self.mismatches or len(self.members) < minimum:
            reasons = [*self.mismatches, *(one.reason for one in self.left_out)]
            problems = "\n".join(f"- {reason}" for reason in reasons)
            raise FederationError(f"the run can't start:\n{problems}")

    def _name(self, node: int) -> str:
        member = self._by_node.get(node)
        return f"site {member.site} (node {node})" if member else "a client"


def _wait_for_nodes(
    grid: Grid, roster: Roster, settings: FederationSettings
) -> tuple[list[int], list[int]]:
    """The nodes to ask, and those that are connected and have no business here."""
    by_node = roster.by_node
    wanted = settings.clients
    minimum = settings.minimum_clients or wanted
    if by_node and minimum > len(by_node):
        raise FederationError(
            f"federation.clients: expected at most the {len(by_node)} sites of {roster.source}, "
            f"got {minimum}"
        )
    deadline = time.monotonic() + settings.connect_timeout
    while True:
        connected = sorted(grid.get_node_ids())
        nodes = [node for node in connected if not by_node or node in by_node]
        strangers = [node for node in connected if by_node and node not in by_node]
        if len(nodes) >= wanted:
            return nodes, strangers
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    if len(nodes) >= minimum:
        logger.warning("going on with %d of %d clients", len(nodes), wanted)
        return nodes, strangers
    raise FederationError(_too_few(nodes, strangers, roster, settings))


def _too_few(
    nodes: list[int], strangers: list[int], roster: Roster, settings: FederationSettings
) -> str:
    wanted, minimum = settings.clients, settings.minimum_clients or settings.clients
    told = (
        f"expected {wanted} clients (at least {minimum}), got {len(nodes)} after "
        f"{settings.connect_timeout:g} s"
    )
    if not roster.by_node:
        return (
            f"{told}; in a simulation start the run with --federation-config "
            f"'num-supernodes={wanted}', or raise federation.connect_timeout"
        )
    missing = [
        f"- site {member.site} (node {node}) is not connected"
        for node, member in roster.by_node.items()
        if node not in nodes
    ]
    missing += [f"- node {node} is connected and not on the roster" for node in strangers]
    return "\n".join([f"{told}; start them, or raise federation.connect_timeout", *missing])
