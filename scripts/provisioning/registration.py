"""Make a SuperLink's registrations what the roster says: nobody missing, nobody revoked."""

from pathlib import Path

from fglguard.errors import FederationError
from scripts.provisioning.flower_config import write_flower_config
from scripts.provisioning.key_pairs import pem_of, site_public_text
from scripts.provisioning.kit_record import read_kit_record
from scripts.provisioning.layout import CA_CERTIFICATE, ROSTER, SITE_KEYS
from scripts.provisioning.roster_file import Bound, RosterFile, read_roster_file, write_roster_file
from scripts.provisioning.run_config import place_run_config
from scripts.provisioning.superlink import Node, SuperLinkCommands


def register(kit: Path) -> list[str]:
    """Register every key of the roster, write the node ids into it, unregister revoked keys.

    Run again, it changes nothing. Node ids are taken from the SuperLink, which knows the keys, so
    a roster that was written anew finds its nodes again.

    Args:
        kit: The host's kit, where it stands now.

    Returns:
        What was done, a line each.

    Raises:
        FederationError: The kit is damaged, the SuperLink can't be reached, or a key of the roster
            was revoked there.
    """
    record = read_kit_record(kit)
    if record.kind != "host":
        raise FederationError(f"{kit}: expected the host's kit, got one of a {record.kind}")
    # The kit may have been moved since it was made.
    write_flower_config(kit, record.address, record.port, kit / CA_CERTIFICATE)
    place_run_config(kit)
    roster = read_roster_file(kit / ROSTER)
    superlink = SuperLinkCommands(kit, record.address, record.port)
    known = superlink.nodes()
    notes = _unregister(superlink, roster, known)
    notes += [note for bound in roster.sites for note in _bind(superlink, bound, known, kit)]
    write_roster_file(kit / ROSTER, roster)
    return notes + _strangers(roster, known)


def _unregister(
    superlink: SuperLinkCommands, roster: RosterFile, known: dict[bytes, Node]
) -> list[str]:
    notes = []
    for bound in roster.revoked:
        node = known.get(pem_of(bound.public_key))
        if node is None:
            continue
        bound.node = node.id
        if node.alive:
            superlink.unregister(node.id)
            notes.append(f"{bound.site}: node {node.id} unregistered; its key was revoked")
    return notes


def _bind(
    superlink: SuperLinkCommands, bound: Bound, known: dict[bytes, Node], kit: Path
) -> list[str]:
    node = known.get(pem_of(bound.public_key))
    if node is None:
        path = kit.resolve() / SITE_KEYS / f"{bound.site}.pub"
        if not path.is_file() or site_public_text(path.read_bytes(), path) != bound.public_key:
            raise FederationError(
                f"site {bound.site}: expected the roster's public key in {path}; copy the folder "
                f"{SITE_KEYS}/ from where the kits were made"
            )
        bound.node = superlink.register(path, bound.site)
        return [f"{bound.site}: registered as node {bound.node}"]
    if not node.alive:
        raise FederationError(
            f"site {bound.site}: expected a key that the SuperLink takes, got the one of node "
            f"{node.id}, which was unregistered for good; provision with --rotate {bound.site}"
        )
    changed = bound.node != node.id
    bound.node = node.id
    return [f"{bound.site}: known to the SuperLink as node {node.id}"] if changed else []


def _strangers(roster: RosterFile, known: dict[bytes, Node]) -> list[str]:
    ours = {pem_of(bound.public_key) for bound in [*roster.sites, *roster.revoked]}
    return [
        f"node {node.id} is registered with a key that is on no roster; end it with "
        f"flwr supernode unregister {node.id}"
        for key, node in known.items()
        if node.alive and key not in ours
    ]
