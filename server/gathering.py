"""Before round 1: wait for the clients, ask who they are, and check them against the roster."""

import logging
import time
from dataclasses import dataclass

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

import fglguard
from fglguard.episode_rules import SCHEMA
from fglguard.errors import FederationError
from fglguard.settings import RunSettings
from server.roster import Roster
from strategies.cohort import Cohort, Member
from strategies.guard_strategy import MALFORMED

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

    A client that fails or says nothing is left out, as long as `federation.minimum_clients` remain.

    Raises:
        FederationError: Too few clients are there within `federation.connect_timeout` or answer;
            or one is not on the roster, claims another domain, or has another schema, version or
            encoder.
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
    mismatches: list[str] = []
    absent = [f"{len(nodes) - len(replies)} clients did not answer the query"]
    absent = absent if len(replies) < len(nodes) else []
    for reply in replies:
        if reply.has_error():
            absent.append(f"a client failed: {reply.error.reason}")
            continue
        try:
            member = _check(reply, roster, encoder_fingerprint)
            if member.site in sizes:
                raise FederationError(f"site {member.site}: two nodes answer to this name")
            size = {key: int(value) for key, value in reply.content["metrics"].items()}
        except MALFORMED as error:
            logger.exception("query: node %d", reply.metadata.src_node_id)
            absent.append(f"a client's answer is malformed ({type(error).__name__}: {error})")
        except FederationError as error:
            mismatches.append(str(error))
        else:
            members[reply.metadata.src_node_id] = member
            sizes[member.site] = size
    minimum = settings.federation.minimum_clients or settings.federation.clients
    if mismatches or len(members) < minimum:
        problems = "\n".join(f"- {problem}" for problem in [*mismatches, *absent])
        raise FederationError(f"the run can't start:\n{problems}")
    for problem in absent:
        logger.warning("going on without it: %s", problem)
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
