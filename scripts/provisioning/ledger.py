"""What the authority remembers of keys: each site's present one, and those that were revoked."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from fglguard.errors import FederationError
from scripts.provisioning.kit_files import put


@dataclass
class Ledger:
    """Public keys in OpenSSH's one-line form.

    Attributes:
        keys: Each present site's.
        revoked: Site and key of each that was removed or replaced, oldest first.
    """

    keys: dict[str, str] = field(default_factory=dict)
    revoked: list[tuple[str, str]] = field(default_factory=list)

    def revoke(self, site: str) -> None:
        """Put a site's key aside for good: a SuperLink never takes it again."""
        self.revoked.append((site, self.keys.pop(site)))

    def accept(self, site: str, key: str) -> None:
        """Give a site its key.

        Raises:
            FederationError: The key was revoked, or is another site's.
        """
        for before, revoked in self.revoked:
            if revoked == key:
                raise FederationError(
                    f"site {site}: expected a key of its own, got the one revoked for site "
                    f"{before}: a revoked key is never registered again; make a new one"
                )
        for other, taken in self.keys.items():
            if other != site and taken == key:
                raise FederationError(f"site {site}: expected a key of its own, got site {other}'s")
        self.keys[site] = key


def read_ledger(path: Path) -> Ledger:
    """Read the ledger; an empty one where there is none yet.

    Raises:
        FederationError: It is damaged.
    """
    if not path.exists():
        return Ledger()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Ledger(
            {str(site): str(key) for site, key in record["sites"].items()},
            [(str(entry["site"]), str(entry["public_key"])) for entry in record["revoked"]],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FederationError(f"{path}: expected the record of the sites' keys: {error}") from error


def write_ledger(path: Path, ledger: Ledger) -> None:
    """Write it whole or not at all."""
    record = {
        "sites": ledger.keys,
        "revoked": [{"site": site, "public_key": key} for site, key in ledger.revoked],
    }
    put(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
