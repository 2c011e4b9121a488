"""How a host's kit says where its SuperLink is, which sites there are, and how they run."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit

from fglguard.errors import FederationError
from fglguard.settings import Scalar
from scripts.provisioning.layout import BUNDLE_KEY, FLOWER_CONFIG, ROSTER, RUN_CONFIG


@dataclass(frozen=True)
class Connection:
    """A SuperLink with TLS.

    Attributes:
        address: `host:port`.
        root_certificates: The certificate authority's file.
        roster: The roster that binds keys to sites.
        settings: What every run over these sites needs, as `run.toml` has it; empty without one.
        signing_key: Signs the guard of a run; None where the kit has no such key.
    """

    address: str
    root_certificates: Path
    roster: Path
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    signing_key: Path | None = None

    def write(self, home: Path) -> None:
        """Make it the one SuperLink that a FLWR_HOME knows."""
        document = {
            "superlink": {
                "default": "host",
                "host": {
                    "address": self.address,
                    "root-certificates": str(self.root_certificates),
                },
            }
        }
        (home / FLOWER_CONFIG).write_text(tomlkit.dumps(document), encoding="utf-8")


def read_connection(kit: Path) -> Connection:
    """Read a host's kit: Flower's own `config.toml`, and what stands beside it.

    A path in `config.toml` counts from the kit's folder.

    Raises:
        FederationError: A file is missing or not of the form, or the connection has no TLS.
    """
    path = kit / FLOWER_CONFIG
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FederationError(
            f"{kit}: expected a host's kit, with {FLOWER_CONFIG} in it: {error.strerror}"
        ) from error
    except ValueError as error:
        raise FederationError(f"{path}: expected TOML, got damage: {error}") from error
    chosen = _chosen(document, path)
    address, authority = chosen.get("address"), chosen.get("root-certificates")
    if not isinstance(address, str) or not isinstance(authority, str):
        raise FederationError(
            f"{path}: expected an address and root-certificates for the SuperLink, got "
            f"{', '.join(sorted(chosen)) or 'nothing'}"
        )
    key = kit / BUNDLE_KEY
    connection = Connection(
        address,
        (kit / authority).resolve(),
        (kit / ROSTER).resolve(),
        _settings(kit / RUN_CONFIG),
        key.resolve() if key.is_file() else None,
    )
    for file in (connection.root_certificates, connection.roster):
        if not file.is_file():
            raise FederationError(f"{kit}: expected the file {file}, got none")
    return connection


def _settings(path: Path) -> dict[str, Scalar]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FederationError(f"{path}: expected settings of a run: {error}") from error


def _chosen(document: dict[str, Any], path: Path) -> dict[str, Any]:
    links = document.get("superlink", {})
    named = {key: value for key, value in links.items() if isinstance(value, dict)}
    default = links.get("default") or (next(iter(named)) if len(named) == 1 else None)
    if default not in named:
        raise FederationError(
            f"{path}: expected [superlink] with default = NAME and [superlink.NAME], got "
            f"{', '.join(sorted(links)) or 'nothing'}"
        )
    return named[default]
