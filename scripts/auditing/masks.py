"""The settings of a run under one mask, as `conf` has them."""

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from fglguard.settings import RunSettings, flatten
from scripts.generate_flower_config import ROOT


def run_settings(privacy: str, budget: int, *overrides: str) -> RunSettings:
    """A run's settings.

    Args:
        privacy: The mask.
        budget: T that its noise is made for.
        overrides: Such as `detector=small`.

    Raises:
        SettingsError: A setting does not fit.
    """
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        config = compose(
            "config",
            overrides=[*overrides, f"privacy={privacy}", f"privacy.exports={budget}"],
        )
    return RunSettings.from_flat(flatten(OmegaConf.to_container(config, resolve=True)))
