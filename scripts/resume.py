"""Go on with an interrupted run: its own settings, unless the command line names others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fglguard.errors import SettingsError
from fglguard.settings import Scalar
from server.run_folder import FREE_TO_CHANGE, read_configuration


def with_settings_of_the_folder(
    flat: Mapping[str, Scalar], overrides: Sequence[str]
) -> dict[str, Scalar]:
    """The settings of the run at `flat["resume"]`, with what the command line says of its own.

    Settings that don't change the outcome are those of now. One that does and that the command
    line names is kept as it was named: the run then stops and shows the difference, since it
    would not be the run that was interrupted.

    Args:
        flat: The composed settings of now.
        overrides: What the command line says, such as `seed=1` or `strategy=fedavg`.

    Raises:
        FederationError: The folder holds no run.
        SettingsError: A preset or an output folder is named.
    """
    named = {override.partition("=")[0].lstrip("+~") for override in overrides}
    for key in ("experiment", "output"):
        if key in named:
            raise SettingsError(f"{key}: expected none beside resume, which has the run's own")
    before = read_configuration(Path(str(flat["resume"])))
    kept = {
        key: value
        for key, value in flat.items()
        if key in FREE_TO_CHANGE or key in named or key.partition(".")[0] in named
    }
    return {**before, **kept}
