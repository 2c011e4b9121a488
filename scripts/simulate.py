"""Simulate a federation: `python scripts/simulate.py strategy=fedprox federation.rounds=40`.

Hydra composes the run from `conf/`; `-m` sweeps (`scripts/sweep`). `federation.backend` says where
clients run: in this process, in worker processes of its own, or on Ray through `flwr run`.
"""

import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from fglguard.errors import FglguardError
from fglguard.settings import RunSettings
from scripts.command_line import CONF, hydra_errors_told
from scripts.configuration import flat_values, register_resolvers
from scripts.corpus_preparation import prepare_corpus
from scripts.resume import with_settings_of_the_folder
from scripts.simulation import simulate_run

register_resolvers()


@hydra.main(version_base=None, config_path=str(CONF), config_name="config")
def main(config: DictConfig) -> None:
    """Prepare the corpus where needed, run, print the results."""
    try:
        values, root = flat_values(config)
        if values["resume"]:
            overrides = list(HydraConfig.get().overrides.task)
            values = with_settings_of_the_folder(values, overrides)
        settings = RunSettings.from_flat(values)
        prepare_corpus(settings, root)
        simulate_run(settings)
    except (FglguardError, OSError) as error:  # OSError: a full disk, no permission, ...
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; go on with resume=RUN_FOLDER", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    with hydra_errors_told():
        main()
