"""Who a node is, and whether it may take part: its answer to the query against the roster."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from flwr.app import Message

import fglguard
from fglguard.episode_rules import SCHEMA
from fglguard.errors import FederationError, shown
from server.roster import Roster
from strategies.cohort import Cohort, Member


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A node or a site that takes no part.

    Attributes:
        reason: Why; whole words for a person, naming site and node.
        site: Its name on the roster; empty where it has none.
        node: Its node id; 0 where none is known.
        claimed: The site that it says it is, if it said anything.
    """

    reason: str
    site: str = ""
    node: int = 0
    claimed: str = ""


@dataclass(frozen=True)
class Gathered:
    """Who takes part.

    Attributes:
        cohort: The members by node id.
        sizes: Split sizes and unsafe counts that each site reported, by site.
        left_out: Who takes no part, and why.
        want_guard: Sites that want the guard at the end.
    """

    cohort: Cohort
    sizes: dict[str, dict[str, int]]
    left_out: list[LeftOut] = field(default_factory=list)
    want_guard: frozenset[str] = frozenset()

    def record(self) -> dict[str, Any]:
        """Both lists as the run folder keeps them."""
        present = [
            {"site": member.site, "domain": member.domain, "node": node}
            for node, member in self.cohort
        ]
        return {"present": present, "left_out": [asdict(one) for one in self.left_out]}


class ImpersonationError(FederationError):
    """A node says that it is another site than the roster binds its key to."""

    def __init__(self, message: str, claimed: str) -> None:
        super().__init__(message)
        self.claimed = claimed


def identify(reply: Message, roster: Roster, encoder_fingerprint: str) -> Member:
    """The member that an answer to the query comes from.

    Where the roster binds node ids, who it is follows from the node that the message came from,
    which the SuperLink knows by its key; what the answer says of itself must agree, or it takes no
    part. Elsewhere its own word is all there is.

    Raises:
        FederationError: It is not on the roster, says that it is another site or of another
            domain, or has another schema, version or encoder.
    """
    said = reply.content["site"]
    claimed, domain = str(said["site"]), str(said["domain"])
    node = reply.metadata.src_node_id
    if by_node := roster.by_node:
        _require_own_name(by_node, node, claimed)
    member = roster.member(claimed, domain)
    for key, wanted in (
        ("schema", SCHEMA),
        ("version", fglguard.__version__),
        ("encoder_fingerprint", encoder_fingerprint),
    ):
        if said[key] != wanted:
            raise FederationError(
                f"site {member.site}: {key}: expected {wanted!r}, got {said[key]!r}"
            )
    return member


def _require_own_name(by_node: Mapping[int, Member], node: int, claimed: str) -> None:
    if node not in by_node:
        raise ImpersonationError(
            f"node {node}, which is not on the roster, says that it is site {shown(claimed)}",
            claimed,
        )
    if by_node[node].site != claimed:
        raise ImpersonationError(
            f"node {node}, whose key the roster binds to site {by_node[node].site}, says that it "
            f"is site {shown(claimed)}",
            claimed,
        )
