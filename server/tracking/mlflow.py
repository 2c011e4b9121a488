"""MLflow: a run in a local database, without a server."""

import importlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fglguard.errors import SettingsError
from fglguard.files import write_atomically
from fglguard.settings import RunSettings, values_of
from server.tracking.store_lock import alone
from server.tracking.tracker import Tracker

DATABASE = "mlflow.db"
EXPERIMENT = "fglguard"
RUN_FILE = "mlflow.json"
"""In the run folder: which MLflow run it is, for a resumed run to go on with."""

OPEN_SECONDS = 300.0
"""How long to wait for other runs that are opening the store."""
BATCH = 100
"""MLflow takes so many parameters at once, and more metrics."""
TAG_LENGTH = 5000
"""Longest value of an MLflow tag."""
_FORBIDDEN = re.compile(r"[^\w\-. :/]", re.ASCII)

Item = TypeVar("Item")


class MLflow(Tracker):
    """A run of the experiment `fglguard` in `<folder>/mlflow.db`: settings, metrics by round.

    `mlflow ui --backend-store-uri sqlite:///<folder>/mlflow.db` shows it. MLflow 3 refuses its
    older store of plain files, so a SQLite database holds everything. Nothing goes over a network.

    Args:
        store: The folder.
        run_folder: The run folder.
        settings: The run's.

    Raises:
        SettingsError: The package is not installed, or the folder can't hold a database.
    """

    def __init__(self, store: Path, run_folder: Path, settings: RunSettings) -> None:
        super().__init__(settings.federation.rounds)
        # Read when mlflow is imported: it would report its use to its makers.
        os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
        try:
            for needed in ("alembic", "sqlalchemy"):  # by the store; mlflow-skinny leaves them out
                importlib.import_module(needed)
            from mlflow import MlflowClient
            from mlflow.exceptions import MlflowException
        except ImportError as error:
            raise SettingsError(
                "tracking.mlflow: needs packages that are not installed: "
                "pip install 'fglguard[tracking]'"
            ) from error
        for chatty in ("mlflow", "alembic"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        store = store.resolve()
        try:
            store.mkdir(parents=True, exist_ok=True)
            # Two runs of a sweep that make the database at once would spoil it.
            with alone(store, OPEN_SECONDS):
                self._client: Any = MlflowClient(tracking_uri=f"sqlite:///{store / DATABASE}")
                experiment = self._experiment(store)
            self._run_id = _resumed(run_folder) or self._new_run(experiment, run_folder, settings)
            self._client.update_run(self._run_id, status="RUNNING")
        except (OSError, MlflowException) as error:
            raise SettingsError(
                f"tracking.mlflow: {store} can't hold an MLflow database: {error}"
            ) from error

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        """Log metrics."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(_key(name), value, now, step) for name, value in figures.items()]
        for batch in _batches(metrics):
            self._client.log_batch(self._run_id, metrics=batch)

    def close(self, error: str | None) -> None:
        """End the run; a failed run's reason is its tag `error`."""
        if error is not None:
            self._client.set_tag(self._run_id, "error", error[:TAG_LENGTH])
        self._client.set_terminated(self._run_id, "FINISHED" if error is None else "FAILED")

    def _new_run(self, experiment: str, run_folder: Path, settings: RunSettings) -> str:
        from mlflow.entities import Param

        run = self._client.create_run(
            experiment,
            run_name=run_folder.name,
            tags={"run_folder": str(run_folder.resolve())},
        )
        run_id = str(run.info.run_id)
        params = [Param(key, str(value)) for key, value in values_of(settings).items()]
        for batch in _batches(params):
            self._client.log_batch(run_id, params=batch)
        with write_atomically(run_folder / RUN_FILE) as file:
            file.write(json.dumps({"run_id": run_id}).encode())
        return run_id

    def _experiment(self, store: Path) -> str:
        found = self._client.get_experiment_by_name(EXPERIMENT)
        if found is not None:
            return str(found.experiment_id)
        artifacts = (store / "artifacts").as_uri()
        return str(self._client.create_experiment(EXPERIMENT, artifact_location=artifacts))


def _resumed(run_folder: Path) -> str | None:
    path = run_folder / RUN_FILE
    if not path.exists():
        return None
    return str(json.loads(path.read_text(encoding="utf-8"))["run_id"])


def _key(name: str) -> str:
    """`name` in the letters that MLflow allows; others become `_` and their code."""
    return _FORBIDDEN.sub(lambda match: f"_{ord(match.group()):x}", name)


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
