"""`roster.json` of the host's kit: who takes part with which key, and whose key was revoked."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import FederationError
from scripts.provisioning.consortium import Consortium
from scripts.provisioning.kit_files import put
from scripts.provisioning.ledger import Ledger


@dataclass
class Bound:
    """A site's entry.

    Attributes:
        site: Its name.
        public_key: Its key, in OpenSSH's one-line form.
        node: The node id under which the SuperLink knows the key; None before registration.
        agreed: Domain and most nodes, as `server.roster` reads them; empty for a revoked key.
    """

    site: str
    public_key: str
    node: int | None
    agreed: dict[str, Any]

    def record(self) -> dict[str, Any]:
        """As it stands in the file."""
        node = {} if self.node is None else {"node": self.node}
        return {"site": self.site, **self.agreed, **node, "public_key": self.public_key}


@dataclass
class RosterFile:
    """The file: sites in their order, and revoked keys."""

    sites: list[Bound]
    revoked: list[Bound]


def read_roster_file(path: Path) -> RosterFile:
    """Read the keys and node ids of a roster; `server.roster` reads the rest.

    Raises:
        FederationError: It can't be read or is not of that form.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return RosterFile(list(_bound(record["sites"])), list(_bound(record.get("revoked", []))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FederationError(
            f'{path}: expected a roster, {{"sites": [{{"site", "domain", "public_key"}}, ...], '
            f'"revoked": [...]}}: {type(error).__name__} {error}'
        ) from error


def write_roster_file(path: Path, roster: RosterFile) -> bool:
    """Write it whole or not at all; whether it changed."""
    record = {
        "sites": [bound.record() for bound in roster.sites],
        "revoked": [bound.record() for bound in roster.revoked],
    }
    return put(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def roster_of(consortium: Consortium, ledger: Ledger, before: RosterFile | None) -> RosterFile:
    """The roster of a consortium, with the node ids that are known from before."""
    known = [] if before is None else [*before.sites, *before.revoked]
    nodes = {bound.public_key: bound.node for bound in known}
    sites = []
    for site in consortium.sites:
        key = ledger.keys[site.name]
        most = {} if site.max_nodes is None else {"max_nodes": site.max_nodes}
        sites.append(Bound(site.name, key, nodes.get(key), {"domain": site.domain, **most}))
    return RosterFile(sites, [Bound(site, key, nodes.get(key), {}) for site, key in ledger.revoked])


def _bound(entries: Iterable[dict[str, Any]]) -> Iterable[Bound]:
    for entry in entries:
        node = entry.get("node")
        if node is not None and type(node) is not int:
            raise TypeError(f"node of site {entry['site']!r}: expected a whole number")
        agreed: dict[str, Any] = {
            key: entry[key] for key in ("domain", "max_nodes") if key in entry
        }
        yield Bound(str(entry["site"]), str(entry["public_key"]), node, agreed)
