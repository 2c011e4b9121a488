"""What Hydra has against a command line, in one line and in our own words."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from fglguard.errors import suggestion
from fglguard.settings import flatten

CONF = Path(__file__).resolve().parent.parent / "conf"
_FULL = "HYDRA_FULL_ERROR"
_NO_SETTINGS = ("base", "hydra")
"""Groups of `conf/` that no one chooses on a command line."""


@contextmanager
def hydra_errors_told() -> Iterator[None]:
    """Around a `hydra.main`: say in one line why a command line can't be composed, and exit with 2.

    Whoever sets HYDRA_FULL_ERROR gets Hydra's own words and the stack. Without it Hydra would print
    up to twenty lines and exit with 1, and lets an exception pass only where it is set.
    """
    if _FULL in os.environ:
        yield
        return
    os.environ[_FULL] = "1"
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        sys.exit(2)
    finally:
        del os.environ[_FULL]


def describe(error: Exception) -> str:
    """One line about what Hydra could not compose, with what is near."""
    if isinstance(error, OverrideParseException):
        return _not_read(error.override, error.message)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        near = suggestion(name, error.options)
        return f"{group}: expected one of {', '.join(error.options)}, got {name!r}{near}"
    cause = error.__cause__
    if isinstance(cause, ConfigAttributeError | ConfigKeyError) and cause.full_key:
        return f"{cause.full_key}: unknown setting{suggestion(cause.full_key, known_keys())}"
    first, _, rest = str(error).partition("\n")
    hint = "; -m sweeps over several values" if "--multirun" in first + rest else ""
    return first.removesuffix(" requires --multirun") + hint


def known_keys() -> list[str]:
    """What a command line may set: groups of `conf/`, then settings by their dotted names."""
    with initialize_config_dir(str(CONF), version_base=None):
        settings = flatten(OmegaConf.to_container(compose("config")))
    groups = sorted(path.name for path in CONF.iterdir() if path.is_dir())
    return [*(name for name in groups if name not in _NO_SETTINGS), *settings]


def _not_read(override: str, message: str) -> str:
    if "=" not in override:
        key = override.partition(" ")[0].partition(":")[0].lstrip("+~")
        return f"expected key=value, got {override!r}{suggestion(key, known_keys())}"
    return f"expected key=value, got {override!r}: {message.splitlines()[0]}"
