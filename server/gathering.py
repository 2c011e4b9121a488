"""Before round 1: wait for the clients, ask who they are, and check them against the roster."""

import logging
import time
from dataclasses import dataclass

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

import fglguard
from fglguard.episode import SCHEMA
from fglguard.errors import FederationError
from fglguard.settings import RunSettings
from server.roster import Roster
from strategies.cohort import Cohort, Member

logger = logging.getLogger("fglguard")

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Gathered:
    """Who takes part.

    Attributes:
        cohort: The members by node id.
        sizes: Split sizes and unsafe counts that each site reported, by site.
    """

    cohort: Cohort
    sizes: dict[str, dict[str, int]]


def gather(grid: Grid, roster: Roster, settings: RunSettings, encoder_fingerprint: str) -> Gathered:
    """Query every connected node; stop with a clear error on any mismatch.

    Raises:
        FederationError: Too few clients within `federation.connect_timeout`, or a client fails,
            is not on the roster, claims another domain, or has another schema, version or encoder.
    """
    nodes = _wait_for_nodes(grid, settings)
    config = ConfigRecord(
        {
            "schema": SCHEMA,
            "encoder_fingerprint": encoder_fingerprint,
            "version": fglguard.__version__,
        }
    )
    messages = [
        Message(RecordDict({"config": config}), dst_node_id=node, message_type=MessageType.QUERY)
        for node in nodes
    ]
    replies = list(grid.send_and_receive(messages, timeout=settings.federation.timeout))
    members: dict[int, Member] = {}
    sizes: dict[str, dict[str, int]] = {}
    problems = []
    for reply in replies:
        node = reply.metadata.src_node_id
        try:
            member = _check(reply, roster, encoder_fingerprint)
            if member in members.values():
                raise FederationError(f"site {member.site}: two nodes answer to this name")
        except FederationError as error:
            problems.append(str(error))
            continue
        members[node] = member
        sizes[member.site] = {key: int(value) for key, value in reply.content["metrics"].items()}
    if len(replies) < len(nodes):
        problems.append(f"{len(nodes) - len(replies)} clients did not answer the query")
    if problems:
        raise FederationError("the run can't start:\n" + "\n".join(f"- {p}" for p in problems))
    return Gathered(Cohort(members), sizes)


def _wait_for_nodes(grid: Grid, settings: RunSettings) -> list[int]:
    wanted = settings.federation.clients
    minimum = settings.federation.minimum_clients or wanted
    deadline = time.monotonic() + settings.federation.connect_timeout
    while True:
        nodes = sorted(grid.get_node_ids())
        if len(nodes) >= wanted:
            return nodes
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    if len(nodes) >= minimum:
        logger.warning("going on with %d of %d clients", len(nodes), wanted)
        return nodes
    raise FederationError(
        f"expected {wanted} clients (at least {minimum}), got "
        f"{len(nodes)} after {settings.federation.connect_timeout:g} s; in a simulation start the "
        f"run with --federation-config 'num-supernodes={wanted}', or raise "
        f"federation.connect_timeout"
    )


def _check(reply: Message, roster: Roster, encoder_fingerprint: str) -> Member:
    if reply.has_error():
        raise FederationError(f"a client failed: {reply.error.reason}")
    site = reply.content["site"]
    member = roster.member(str(site["site"]), str(site["domain"]))
    for key, wanted in (
        ("schema", SCHEMA),
        ("version", fglguard.__version__),
        ("encoder_fingerprint", encoder_fingerprint),
    ):
        if site[key] != wanted:
            raise FederationError(
                f"site {member.site}: {key}: expected {wanted!r}, got {site[key]!r}"
            )
    return member
