"""`kit.toml`: what a kit was made for and with, which its check compares with what it finds."""

import tomllib
from dataclasses import dataclass
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any

import tomlkit

from fglguard.errors import FederationError
from scripts.provisioning.consortium import Consortium
from scripts.provisioning.layout import KIT

PACKAGES = ("flwr", "fglguard")


@dataclass(frozen=True)
class KitRecord:
    """A kit's record.

    Attributes:
        kind: `host` or `site`.
        consortium: The consortium's name.
        address: Under which the sites reach the host.
        port: The host's port.
        state: Folder for what is kept.
        health_port: Of the health server.
        minimum_sites: Fewest sites that a run goes on with.
        require_privacy: The least that every site asks of a run.
        warning_days: Before a certificate's end that a check begins to warn.
        python: The Pythons that the project runs on, such as `>=3.11`.
        versions: Of the packages that must be equal everywhere.
    """

    kind: str
    consortium: str
    address: str
    port: int
    state: str
    health_port: int
    minimum_sites: int
    require_privacy: str
    warning_days: int
    python: str
    versions: dict[str, str]


def kit_record(consortium: Consortium, kind: str, state: Path, health_port: int) -> KitRecord:
    """The record of a kit that is made now, with the versions installed here."""
    return KitRecord(
        kind=kind,
        consortium=consortium.name,
        address=consortium.host.address,
        port=consortium.host.port,
        state=str(state),
        health_port=health_port,
        minimum_sites=consortium.minimum_sites,
        require_privacy=consortium.require_privacy,
        warning_days=consortium.lifetimes.warning,
        python=metadata("fglguard")["Requires-Python"],
        versions={name: version(name) for name in PACKAGES},
    )


def kit_text(record: KitRecord) -> str:
    """As TOML."""
    return tomlkit.dumps(dict(vars(record)))


def read_kit_record(kit: Path) -> KitRecord:
    """Read a kit's record.

    Raises:
        FederationError: The folder is no kit, or the record is damaged.
    """
    path = kit / KIT
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        record = KitRecord(**values)
    except FileNotFoundError as error:
        raise FederationError(f"{kit}: expected a kit, with {KIT} in it") from error
    except (OSError, ValueError, TypeError) as error:
        raise FederationError(f"{path}: expected the record of a kit: {error}") from error
    for name, kind in KitRecord.__annotations__.items():
        wanted = dict if name == "versions" else kind
        if not isinstance(values[name], wanted):
            raise FederationError(
                f"{path}: {name}: expected {wanted.__name__}, got a {type(values[name]).__name__}"
            )
    return record
