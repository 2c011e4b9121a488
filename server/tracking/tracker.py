"""A tracker: told of each client and round, and writes figures a whole round at a time."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from server.tracking.figures import final_figures
from strategies.updates import Failure, Update


class Tracker(ABC):
    """An observer that hands its figures on, by name, when a round is over.

    A round that the process did not live to finish leaves nothing, so that a resumed run does not
    write it twice. Names: `clients/<site>/<metric>`, `round/<metric>`, and at the end
    `test/<domain>/<figure>`, `test/pooled/<figure>` and `calibration/<figure>`.

    Args:
        rounds: The run's rounds, the step of its final figures.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._figures: dict[str, float] = {}
        self._failures = 0

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """A client's update was used."""
        for name, value in {**update.metrics, "weight": weight}.items():
            self._figures[f"clients/{update.member.site}/{name}"] = float(value)

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A client's reply was left out."""
        self._figures[f"clients/{failure.member.site}/failed"] = 1.0
        self._failures += 1

    def retried(self) -> None:
        """The round starts over: what its last attempt gave is forgotten."""
        self._figures, self._failures = {}, 0

    def round_done(self, server_round: int, rounds: int, metrics: Mapping[str, Any]) -> None:
        """A whole round is over: its figures are written."""
        for name, value in metrics.items():
            if isinstance(value, int | float):
                self._figures[f"round/{name}"] = float(value)
        self._figures["round/failures"] = float(self._failures)
        self.write(server_round, self._figures)
        self._figures, self._failures = {}, 0

    def finish(self, results: Mapping[str, Any]) -> None:
        """The run is complete: its final figures are written at the last round's step."""
        self.write(self._rounds, self._figures | final_figures(results))
        self.close(None)

    @abstractmethod
    def write(self, step: int, figures: Mapping[str, float]) -> None:
        """Keep these figures."""

    @abstractmethod
    def close(self, error: str | None) -> None:
        """The run is over; `error` says why where it failed."""
