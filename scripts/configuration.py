"""From what Hydra composed to a run's settings, and where a sweep goes."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from fglguard.errors import SettingsError
from fglguard.settings import Scalar, flatten

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


def sweep_folder(output: str) -> Path:
    """The folder that holds a sweep's points: `output`, or `runs/sweep` where that is empty."""
    return Path(output or SWEEP_FOLDER)


def register_resolvers() -> None:
    """Let `conf/` say `${sweep_folder:...}`."""
    OmegaConf.register_new_resolver(
        "sweep_folder", lambda output="": str(sweep_folder(output or "")), replace=True
    )
