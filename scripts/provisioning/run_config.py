"""`run.toml` of the host's kit: what every run over its sites needs, as Flower takes it."""

import tomllib
from pathlib import Path

import tomlkit

from fglguard.errors import FederationError
from scripts.configuration import composed_values
from scripts.provisioning.consortium import Consortium
from scripts.provisioning.kit_files import put
from scripts.provisioning.layout import ROSTER, RUN_CONFIG

_ROSTER_KEY = "federation.roster"
_HISTOGRAM = ("calibration.scores=histogram", "calibration.bins=100")
"""The strictest floor takes part in no calibration that collects scores one by one."""


def run_overrides(consortium: Consortium) -> list[str]:
    """What a run over these sites is given, as `scripts/simulate.py` takes it."""
    return [
        f"federation.clients={len(consortium.sites)}",
        f"federation.minimum_clients={consortium.minimum_sites}",
        *agreed_overrides(consortium),
    ]


def agreed_overrides(consortium: Consortium) -> list[str]:
    """What of it every site depends on, whoever else takes part."""
    floor = consortium.require_privacy
    return [
        f"corpus.encoder={consortium.encoder}",
        f"privacy={floor}",
        *(_HISTOGRAM if floor == "aegis_extended" else ()),
    ]


def write_run_config(kit: Path, consortium: Consortium) -> None:
    """Write the settings that `run_overrides` sets, privacy as a whole, and the roster's place."""
    overrides = run_overrides(consortium)
    named = tuple(override.partition("=")[0] for override in overrides)
    values = {
        key: value
        for key, value in composed_values(overrides).items()
        if key in named or key.startswith("privacy.")
    }
    put(kit / RUN_CONFIG, tomlkit.dumps({_ROSTER_KEY: _roster_of(kit), **values}))


def place_run_config(kit: Path) -> None:
    """Correct the roster's place in a kit that may have been moved.

    Raises:
        FederationError: The file can't be read or is no TOML.
    """
    path = kit / RUN_CONFIG
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FederationError(f"{path}: expected settings of a run: {error}") from error
    put(path, tomlkit.dumps({**values, _ROSTER_KEY: _roster_of(kit)}))


def _roster_of(kit: Path) -> str:
    return str((kit / ROSTER).resolve())
