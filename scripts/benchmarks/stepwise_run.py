"""The federation's own parts, driven a round at a time so that a benchmark can look between."""

from types import TracebackType
from typing import Self

from flwr.app import ConfigRecord

from client.app import app as client_app
from fglguard.detector import detector_of
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten, load_flat
from fglguard.settings import RunSettings, values_of
from server.gathering import gather
from server.process_grid import process_grid
from server.roster import roster_of
from strategies.registry import build_strategy
from strategies.updates import Failure, Update, pack_parameters, unpack_parameters


class StepwiseRun:
    """A run in worker processes: `server.run` without its files, calibration and test."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self._grid = process_grid(client_app, values_of(settings))
        encoder = load_encoder(settings.corpus.encoder)
        roster = roster_of(settings, encoder.fingerprint)
        gathered = gather(self._grid, roster, settings, encoder.fingerprint)
        self._strategy = build_strategy(gathered.cohort, settings, self)
        dimension = GraphSettings.of(settings.detector).node_width(encoder.dimension)
        self.detector = detector_of(settings.detector, dimension, seed=settings.seed)
        self.trained_clients: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._grid.close()

    def round(self, number: int) -> None:
        """Train one round; the detector then holds the next global model."""
        self.trained_clients = []
        messages = self._strategy.configure_train(
            number,
            pack_parameters(flatten(self.detector)),
            ConfigRecord({"seed": self.settings.seed, "run_folder": self.settings.output}),
            self._grid,
        )
        replies = self._grid.send_and_receive(messages)
        arrays, _ = self._strategy.aggregate_train(number, replies)
        load_flat(self.detector, unpack_parameters(arrays), "the aggregate")

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """Note whose update was used."""
        self.trained_clients.append(update.member.index)

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A benchmark has no use for a round that lost a client."""
        raise RuntimeError(
            f"{phase}, round {server_round}: {failure.member.site}: {failure.reason}"
        )

    def surplus(self, server_round: int, update: Update) -> None:
        """There is no over-selection here."""
