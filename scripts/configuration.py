"""From what Hydra composed to a run's settings, and where a sweep goes."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from fglguard.errors import SettingsError
from fglguard.settings import RunSettings, Scalar, flatten
from scripts.command_line import CONF

SWEEP_FOLDER = "runs/sweep"


def flat_values(config: DictConfig) -> tuple[dict[str, Scalar], Path | None]:
    """The flat mapping that `RunSettings.from_flat` takes, and `corpus.root` where there is one.

    Raises:
        SettingsError: A setting without a default was not given.
    """
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    missing = sorted(OmegaConf.missing_keys(own))
    if missing:
        raise SettingsError(f"{missing[0]}: this setting has no default; give {missing[0]}=...")
    flat = flatten(OmegaConf.to_container(own, resolve=True))
    root = flat.pop("corpus.root", None)
    return flat, None if root is None else Path(str(root))


def composed_values(overrides: Sequence[str]) -> dict[str, Scalar]:
    """What `conf/` and a command line's `key=value` come to.

    Raises:
        SettingsError: A setting without a default was not given.
        HydraException: The command line can't be composed; `hydra_errors_told` tells why.
    """
    with initialize_config_dir(str(CONF), version_base=None):
        values, _ = flat_values(compose("config", list(overrides)))
    return values


def with_absolute_paths(settings: RunSettings, folder: Path) -> RunSettings:
    """The same run, whatever working directory a process of it has.

    Args:
        settings: The run's.
        folder: Its folder.
    """

    def absolute(path: str) -> str:
        return path and str(Path(path).resolve())

    corpus, federation, tracking = settings.corpus, settings.federation, settings.tracking
    delivery = settings.delivery
    return dataclasses.replace(
        settings,
        output=str(folder),
        corpus=dataclasses.replace(
            corpus, path=str(Path(corpus.path).resolve()), splits=absolute(corpus.splits)
        ),
        federation=dataclasses.replace(federation, roster=absolute(federation.roster)),
        delivery=dataclasses.replace(delivery, signing_key=absolute(delivery.signing_key)),
        tracking=dataclasses.replace(tracking, mlflow=absolute(tracking.mlflow)),
    )


def sweep_folder(output: str) -> Path:
    """The folder that holds a sweep's points: `output`, or `runs/sweep` where that is empty."""
    return Path(output or SWEEP_FOLDER)


def register_resolvers() -> None:
    """Let `conf/` say `${sweep_folder:...}`."""
    OmegaConf.register_new_resolver(
        "sweep_folder", lambda output="": str(sweep_folder(output or "")), replace=True
    )
