"""Write `[tool.flwr.app.config]` in pyproject.toml from `conf/`."""

from pathlib import Path

import tomlkit
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from fglguard.files import write_atomically
from fglguard.settings import RunSettings, Scalar, flatten, values_of

ROOT = Path(__file__).resolve().parent.parent


def composed(*overrides: str) -> dict[str, Scalar]:
    """The default configuration, with overrides, as Flower carries it: checked, flat, dotted."""
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        config = compose("config", list(overrides))
    return values_of(RunSettings.from_flat(flatten(OmegaConf.to_container(config, resolve=True))))


def main() -> None:
    """Rewrite the table, leaving the rest of the file as it is."""
    path = ROOT / "pyproject.toml"
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    table = tomlkit.table()
    for key, value in composed().items():
        table.add(tomlkit.key(key), value)
    document["tool"]["flwr"]["app"]["config"] = table
    with write_atomically(path) as file:
        file.write(tomlkit.dumps(document).encode())


if __name__ == "__main__":
    main()
