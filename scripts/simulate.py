"""Simulate a federation: `python scripts/simulate.py strategy=fedprox federation.rounds=40`.

Hydra composes the run from `conf/`; `-m` sweeps. `federation.backend` says where clients run: in
this process, in worker processes, or on Ray through `flwr run`.
"""

import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from fglguard.errors import FglguardError, SettingsError
from fglguard.settings import RunSettings, Scalar, flatten
from scripts.corpus_preparation import prepare_corpus
from scripts.simulation import simulate_run

CONF = Path(__file__).resolve().parent.parent / "conf"


@hydra.main(version_base=None, config_path=str(CONF), config_name="config")
def main(config: DictConfig) -> None:
    """Prepare the corpus where needed, run, print the results."""
    try:
        flat = _flat(config)
        root = flat.pop("corpus.root", None)
        settings = RunSettings.from_flat(flat)
        prepare_corpus(settings, None if root is None else Path(str(root)))
        simulate_run(settings)
    except FglguardError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def _flat(config: DictConfig) -> dict[str, Scalar]:
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise SettingsError(f"{missing[0]}: this setting has no default; give {missing[0]}=...")
    flat = flatten(OmegaConf.to_container(config, resolve=True))
    job = HydraConfig.get()
    if job.mode == RunMode.MULTIRUN:
        base = flat["output"] or job.sweep.dir
        flat["output"] = str(Path(base) / str(job.job.num))
    return flat


if __name__ == "__main__":
    main()
