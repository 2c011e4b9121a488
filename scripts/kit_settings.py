"""The settings of a run over real sites: the host's kit's, and what the command line says."""

from collections.abc import Sequence

from fglguard.errors import SettingsError
from fglguard.settings import RunSettings, Scalar
from scripts.configuration import composed_values, with_absolute_paths
from scripts.flower.connection import Connection
from scripts.provisioning.layout import RUN_CONFIG
from scripts.resume import with_settings_of_the_folder
from server.roster import read_roster
from server.run_folder import run_folder_path

MINIMUM = "federation.minimum_clients"
SIGNING_KEY = "delivery.signing_key"


def run_settings(connection: Connection, overrides: Sequence[str]) -> RunSettings:
    """The settings of a run over a kit's sites.

    Raises:
        FglguardError: A value is unknown or out of range, fewer sites would do than the consortium
            agreed on, or the folder to resume holds no run.
    """
    values = composed_values(overrides)
    named = {override.partition("=")[0] for override in overrides}
    own = _of_the_kit(connection, named)
    if values["resume"]:
        values = with_settings_of_the_folder(values, overrides)
        # Where the kit stands now; it changes nothing of the run.
        values |= {key: own[key] for key in (SIGNING_KEY,) if key in own}
    else:
        values |= own
    settings = RunSettings.from_flat(values)
    require_minimum(connection, settings)
    return with_absolute_paths(settings, run_folder_path(settings))


def _of_the_kit(connection: Connection, named: set[str]) -> dict[str, Scalar]:
    roster = connection.roster
    # A group that is named, such as privacy=aegis_extended, is named whole.
    agreed = {
        key: value
        for key, value in connection.settings.items()
        if key.partition(".")[0] not in named
    }
    own: dict[str, Scalar] = {
        **agreed,
        "federation.roster": str(roster),
        "federation.clients": len(read_roster(roster).members),
        SIGNING_KEY: str(connection.signing_key or ""),
    }
    return {key: value for key, value in own.items() if key not in named}


def require_minimum(connection: Connection, settings: RunSettings) -> None:
    """Refuse a run that would go on with fewer sites than the consortium agreed on.

    Raises:
        SettingsError: `federation.minimum_clients` lies below the kit's; 0 asks for every site.
    """
    agreed = int(connection.settings.get(MINIMUM, 0))
    federation = settings.federation
    wanted = federation.minimum_clients or federation.clients
    if wanted < agreed:
        raise SettingsError(
            f"{MINIMUM}: expected at least {agreed}, the consortium's minimum_sites in the kit's "
            f"{RUN_CONFIG}, got {wanted}"
        )
