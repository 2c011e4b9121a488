"""The roster: which sites belong to the consortium, and the domain of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits import SPLITS
from fglguard.errors import FederationError
from fglguard.graph import GraphSettings
from fglguard.partitions import Share, partition
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from strategies.cohort import Member

NODE_IDS = 2**64
"""Flower's are unsigned, of 64 bits; 0 and 1 are its own."""
FIRST_NODE_ID = 2

Entry = tuple[str, str, int | None, int | None]
"""Site, domain, most nodes, node id."""


@dataclass(frozen=True)
class Roster:
    """The members expected, in order.

    Attributes:
        members: One a site; their order fixes the order of sums.
        source: Where the roster comes from, for messages.
    """

    members: tuple[Member, ...]
    source: str

    @property
    def by_node(self) -> dict[int, Member]:
        """The members by node id; empty where the roster binds none."""
        return {member.node: member for member in self.members if member.node is not None}

    def member(self, site: str, claimed_domain: str) -> Member:
        """The member of that name, if the domain it believes it has is the roster's.

        Raises:
            FederationError: The site is not on the roster, or its domain is another.
        """
        for member in self.members:
            if member.site == site:
                if member.domain != claimed_domain:
                    raise FederationError(
                        f"site {site}: expected the roster's domain {member.domain!r} "
                        f"({self.source}), got {claimed_domain!r} from the site"
                    )
                return member
        known = ", ".join(member.site for member in self.members)
        raise FederationError(
            f"site {site!r} (domain {claimed_domain!r}) is not on the roster ({self.source}); "
            f"expected one of: {known}"
        )


def roster_of(settings: RunSettings, encoder_fingerprint: str) -> Roster:
    """The roster file that the settings name, or the simulation's partition.

    In a simulation the server holds the corpus too, so each client's `max_nodes` is what it truly
    has: the nodes of its training graphs. What a client says in its reply to the query would be no
    limit, since a client that inflates one count can inflate the other.
    """
    if settings.federation.roster:
        return read_roster(Path(settings.federation.roster))
    silos = open_corpus(settings.corpus)
    shares = partition(silos, settings.partition, settings.federation.clients, settings.seed)
    caps = _training_nodes(silos, shares, encoder_fingerprint, GraphSettings.of(settings.detector))
    entries = [
        (share.site, share.domain, cap, None) for share, cap in zip(shares, caps, strict=True)
    ]
    return _roster(entries, "the partition")


def read_roster(path: Path) -> Roster:
    """Read a roster: `{"sites": [{"site": "a", "domain": "banking", "max_nodes": 900}, ...]}`.

    `max_nodes` may be left out; it is the most graph nodes, as the consortium agreed when the site
    joined, that a site's updates count for. Either every entry or none has `node`, the Flower node
    id under which the site's key is registered: with it a site is who its key says, whatever it
    says itself. `public_key` may stand beside it, for a person to compare.

    Raises:
        FederationError: The file can't be read, is not of that form, or names a site or a node
            twice.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        entries = [
            (entry["site"], entry["domain"], entry.get("max_nodes"), entry.get("node"))
            for entry in record["sites"]
        ]
    except (OSError, UnicodeDecodeError) as error:
        raise FederationError(f"federation.roster: {path} can't be read: {error}") from error
    except json.JSONDecodeError as error:
        raise FederationError(
            f"federation.roster: {path}:{error.lineno}: broken JSON ({error.msg})"
        ) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise FederationError(
            f"federation.roster: {path}: expected "
            '{"sites": [{"site": "...", "domain": "...", "max_nodes": ...}, ...]}, '
            f"got something else near {error}"
        ) from error
    return _roster(entries, str(path))


def _training_nodes(
    silos: Sequence[Silo], shares: Sequence[Share], encoder_fingerprint: str, graph: GraphSettings
) -> list[int | None]:
    if any(encoder_fingerprint not in silo.encoder_fingerprints() for silo in silos):
        # Every client will refuse such a silo at the query, in words of its own.
        return [None] * len(shares)
    train = SPLITS.index("train")
    counts = [
        np.where(silo.split == train, silo.nodes(encoder_fingerprint, graph), 0) for silo in silos
    ]
    return [
        sum(int(nodes[rows].sum()) for nodes, rows in zip(counts, share.indices, strict=True))
        for share in shares
    ]


def _roster(entries: Sequence[Entry], source: str) -> Roster:
    seen: set[str] = set()
    for site, domain, most, _ in entries:
        if not isinstance(site, str) or not isinstance(domain, str) or not site or not domain:
            raise FederationError(
                f"{source}: site and domain must be texts that are not empty, "
                f"got {site!r} and {domain!r}"
            )
        if most is not None and (type(most) is not int or most < 1):
            raise FederationError(
                f"{source}: site {site!r}: max_nodes: expected a whole number above 0, got {most!r}"
            )
        if site in seen:
            raise FederationError(f"{source}: site {site!r} is named twice")
        seen.add(site)
    if not seen:
        raise FederationError(f"{source}: expected at least one site, got none")
    _require_distinct_nodes(entries, source)
    members = tuple(Member(index, *entry) for index, entry in enumerate(entries))
    return Roster(members, source)


def _require_distinct_nodes(entries: Sequence[Entry], source: str) -> None:
    without = [site for site, _, _, node in entries if node is None]
    if len(without) == len(entries):
        return
    if without:
        raise FederationError(
            f"{source}: expected a node for every site or for none, got none for "
            f"{', '.join(without)}"
        )
    owners: dict[int, str] = {}
    for site, _, _, node in entries:
        if type(node) is not int or not FIRST_NODE_ID <= node < NODE_IDS:
            raise FederationError(
                f"{source}: site {site!r}: node: expected a Flower node id, a whole number from "
                f"{FIRST_NODE_ID} to 2^64 - 1, got {node!r}"
            )
        if node in owners:
            raise FederationError(
                f"{source}: sites {owners[node]!r} and {site!r} have the same node {node}"
            )
        owners[node] = site
