"""Hydra finds launchers in `hydra_plugins` only: this one hands a sweep to `scripts.sweep`."""

import sys
from collections.abc import Sequence

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from fglguard.errors import FglguardError
from scripts.configuration import sweep_folder
from scripts.sweep.sweep import run_sweep


class PointsLauncher(Launcher):
    """Runs a sweep's points in processes of their own; finished ones are skipped.

    hydra-joblib-launcher runs points in parallel too, but ends the whole sweep when one worker
    is killed, as by a system that is short of memory.

    Args:
        workers: Points at a time; 0: one a core.
        limit: Seconds that a point may take.
    """

    def __init__(self, workers: int = 0, limit: float = 86_400.0) -> None:
        self.workers = workers
        self.limit = limit

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Take what Hydra composed; the task function is not needed."""
        self.hydra_context = hydra_context
        self.config = config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run all points, print their table; leave with code 2 where one failed, 130 on Ctrl-C."""
        loader = self.hydra_context.config_loader
        points = [
            (tuple(overrides), loader.load_sweep_config(self.config, list(overrides)))
            for overrides in job_overrides
        ]
        try:
            code = run_sweep(points, sweep_folder(self.config.output), self.workers, self.limit)
        except (FglguardError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            code = 2
        if code:
            sys.exit(code)
        done = [JobReturn(overrides=list(o), status=JobStatus.COMPLETED) for o, _ in points]
        for one in done:
            one.return_value = None
        return done
