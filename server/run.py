"""One federated run: gather, train round by round, calibrate, test, write the guard."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import Grid

from fglguard.bundle import save_bundle
from fglguard.calibration import Calibration, calibrate
from fglguard.detector import Detector, build_detector
from fglguard.encoder import Encoder, load_encoder
from fglguard.errors import FglguardError
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten, load_flat
from fglguard.settings import RunSettings, values_of
from server.evaluation import evaluate_domains
from server.floors import floor_aurocs
from server.gathering import Gathered, gather
from server.participation import participation
from server.results_table import results_page
from server.roster import roster_of
from server.run_folder import RunFolder
from server.scores import ScoreTable, pool, read_scores
from server.training_round import train_round
from strategies.guard_strategy import GuardStrategy
from strategies.registry import build_strategy
from strategies.updates import pack_parameters, unpack_parameters

Results = dict[str, Any]


def run(grid: Grid, settings: RunSettings) -> Results:
    """Run a whole federation over a grid and write its run folder.

    The folder's `status.json` says `completed` or `failed` with the reason; the exception goes on
    to the caller, so that Flower marks the run as failed too.

    Raises:
        FglguardError: Whatever ends the run, in words a person can act on.
    """
    folder = RunFolder(Path(settings.output))
    folder.begin(settings)
    try:
        results = _Run(grid, settings, folder).go()
    except BaseException as error:
        told = str(error) if isinstance(error, FglguardError) else repr(error)
        folder.set_status("failed", told)
        raise
    folder.write_results(results)
    folder.write_report(results_page(results))
    folder.set_status("completed")
    return results


class _Run:
    def __init__(self, grid: Grid, settings: RunSettings, folder: RunFolder) -> None:
        self.grid = grid
        self.settings = settings
        self.folder = folder
        self.encoder: Encoder = load_encoder(settings.corpus.encoder)
        self.simulated = not settings.federation.roster

    def go(self) -> Results:
        settings = self.settings
        started = time.monotonic()
        gathered = gather(self.grid, roster_of(settings), settings, self.encoder.fingerprint)
        strategy = build_strategy(gathered.cohort, settings, self.folder)
        detector = build_detector(
            settings.detector.preset, self.encoder.dimension, seed=settings.seed
        )
        gathered_at = time.monotonic()
        self.train(strategy, detector)
        trained_at = time.monotonic()
        validation = self.scores(strategy, detector, "val")
        calibration = calibrate(
            validation.corroborated, validation.label, settings.calibration.budget
        )
        test = self.scores(strategy, detector, "test")
        evaluation = evaluate_domains(test, calibration.threshold, settings.seed)
        floors = floor_aurocs(settings) if self.simulated else None
        self.save_guard(detector, calibration, gathered)
        return {
            "calibration": _record(calibration),
            "test": evaluation,
            "floors": floors,
            "clients": {
                member.site: {"domain": member.domain, **gathered.sizes[member.site]}
                for _, member in gathered.cohort
            },
            "participation": participation(self.folder.path / "metrics.jsonl"),
            "parameters": len(flatten(detector)),
            "seconds": {
                "gather": round(gathered_at - started, 2),
                "train": round(trained_at - gathered_at, 2),
                "total": round(time.monotonic() - started, 2),
            },
        }

    def train(self, strategy: GuardStrategy, detector: Detector) -> None:
        """All rounds; the detector ends up holding the last global model."""
        strategy.summary()
        rounds = self.settings.federation.rounds
        arrays = pack_parameters(flatten(detector))
        config = ConfigRecord(
            {"seed": self.settings.seed, "run_folder": str(self.folder.path.resolve())}
        )
        for server_round in range(1, rounds + 1):
            began = time.monotonic()
            arrays, metrics = train_round(
                self.grid,
                strategy,
                self.folder,
                self.settings.federation,
                server_round,
                arrays,
                config,
            )
            load_flat(detector, unpack_parameters(arrays), "the aggregate")
            self.folder.checkpoint(server_round, detector)
            duration = round(time.monotonic() - began, 3)
            self.folder.round_done(server_round, rounds, {**metrics, "duration": duration})

    def scores(self, strategy: GuardStrategy, detector: Detector, split: str) -> ScoreTable:
        """Every client's scores on one of its splits, pooled."""
        arrays: ArrayRecord = pack_parameters(flatten(detector))
        rounds = self.settings.federation.rounds
        messages = strategy.configure_evaluate(
            rounds, arrays, ConfigRecord({"split": split}), self.grid
        )
        replies = self.grid.send_and_receive(messages, timeout=self.settings.federation.timeout)
        tables = strategy.collect(
            f"evaluate ({split})",
            rounds,
            replies,
            lambda reply, member: read_scores(reply, member, trust_domains=self.simulated),
        )
        return pool(tables, shared_groups=self.simulated)

    def save_guard(self, detector: Detector, calibration: Calibration, gathered: Gathered) -> None:
        """Write the bundle that `Guard.load` reads."""
        save_bundle(
            self.folder.path / "guard",
            detector,
            encoder=self.encoder,
            graph=GraphSettings(rounds=self.settings.detector.rounds),
            calibration=calibration,
            provenance={
                "settings": values_of(self.settings),
                "domains": gathered.cohort.domains,
                "clients": len(gathered.cohort),
            },
        )


def _record(calibration: Calibration) -> dict[str, Any]:
    record = asdict(calibration)
    if calibration.threshold == float("inf"):
        record["threshold"] = None
    return record
