"""One observer that tells the run folder and every tracker."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fglguard.settings import RunSettings
from server.run_folder import RunFolder
from server.tracking.tracker import Tracker
from strategies.updates import Failure, Update


class FanOut:
    """What a run tells of itself, passed on to its folder and its trackers.

    Args:
        folder: The run folder, which always keeps `metrics.jsonl`.
        trackers: The others.
    """

    def __init__(self, folder: RunFolder, trackers: Sequence[Tracker]) -> None:
        self._folder = folder
        self._trackers = trackers
        self._all = (folder, *trackers)

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """A client's update was used."""
        for one in self._all:
            one.trained(server_round, update, weight)

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A client's reply was left out."""
        for one in self._all:
            one.failed(phase, server_round, failure)

    def surplus(self, server_round: int, update: Update) -> None:
        """A client's update came after enough others; the folder alone is told."""
        self._folder.surplus(server_round, update)

    def retried(self, server_round: int, attempt: int, reason: str) -> None:
        """An attempt at a round was given up."""
        self._folder.retried(server_round, attempt, reason)
        for tracker in self._trackers:
            tracker.retried()

    def round_done(self, server_round: int, rounds: int, metrics: Mapping[str, Any]) -> None:
        """A whole round is over and its checkpoint kept: trackers write it.

        The folder has it already, since a resumed run drops from the folder's log what is after
        the checkpoint, which it can't do with what trackers have written.
        """
        for tracker in self._trackers:
            tracker.round_done(server_round, rounds, metrics)

    def finish(self, results: Mapping[str, Any]) -> None:
        """The run is complete."""
        for tracker in self._trackers:
            tracker.finish(results)

    def close(self, error: str) -> None:
        """The run failed."""
        for tracker in self._trackers:
            tracker.close(error)


def open_trackers(settings: RunSettings, folder: RunFolder) -> FanOut:
    """The folder and the trackers that the settings ask for.

    Raises:
        SettingsError: A tracker's package is missing, or its store can't be used.
    """
    trackers: list[Tracker] = []
    if settings.tracking.tensorboard:
        from server.tracking.tensorboard import TensorBoard

        trackers.append(TensorBoard(folder.path, settings))
    if settings.tracking.mlflow:
        from server.tracking.mlflow import MLflow

        trackers.append(MLflow(Path(settings.tracking.mlflow), folder.path, settings))
    return FanOut(folder, trackers)
