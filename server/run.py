"""One federated run: gather, train round by round, calibrate, test, write the guard."""

import logging
import time
from pathlib import Path
from typing import Any

from flwr.serverapp import Grid

from fglguard.bundle import save_bundle
from fglguard.detector import Detector, detector_of
from fglguard.encoder import Encoder, load_encoder
from fglguard.errors import FglguardError
from fglguard.evaluation.report.curves import score_curves
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten, load_flat
from fglguard.settings import RunSettings, values_of
from fglguard.signature import require_signing_key
from server.assessment import Assessment, assess_global_model
from server.client_figures import client_fairness, client_figures
from server.delivery import deliver, delivery_record
from server.enrolment import Gathered
from server.floors import floor_aurocs
from server.fusion import fused
from server.gathering import gather
from server.local_models import assess_local_models
from server.participation import participation
from server.privacy_record import privacy_record
from server.report import write_run_report
from server.roster import roster_of
from server.rounds import train_rounds
from server.run_folder import RunFolder, run_folder_path
from server.scoring import Scorer
from server.tracking.fan_out import FanOut, open_trackers
from strategies.cohort import Cohort
from strategies.guard_strategy import GuardStrategy
from strategies.local import Local
from strategies.registry import build_strategy

logger = logging.getLogger("fglguard")

Results = dict[str, Any]


def run(grid: Grid, settings: RunSettings) -> Results:
    """Run a whole federation over a grid and write its run folder.

    The folder's `status.json` says `completed` or `failed` with the reason; the exception goes on
    to the caller, so that Flower marks the run as failed too.

    Raises:
        FglguardError: Whatever ends the run, in words a person can act on.
    """
    folder = RunFolder(run_folder_path(settings))
    folder.begin(settings)
    observer: FanOut | None = None
    try:
        observer = open_trackers(settings, folder)
        one = _Run(grid, settings, folder, observer)
        results = one.go()
        folder.write_results(results)
        one.deliver()
        observer.finish(results)
        report_error = write_run_report(folder.path, settings)
        folder.set_status("completed", report_error=report_error)
    except BaseException as error:
        _tell_failure(error, folder, observer)
        raise
    finally:
        folder.close()
    return results


def _tell_failure(error: BaseException, folder: RunFolder, observer: FanOut | None) -> None:
    """Say in the folder and to trackers why the run ended; the error itself goes on."""
    told = str(error) if isinstance(error, FglguardError) else repr(error)
    if isinstance(error, KeyboardInterrupt):
        told = "interrupted"
    try:
        folder.set_status("failed", told)
        if observer:
            observer.close(told)
    except OSError:  # a full disk, which may be what ended the run
        logger.exception("the run failed, and %s can't be told so", folder.path)


class _Run:
    def __init__(
        self, grid: Grid, settings: RunSettings, folder: RunFolder, observer: FanOut
    ) -> None:
        self.grid = grid
        self.settings = settings
        self.folder = folder
        self.observer = observer
        self.encoder: Encoder = load_encoder(settings.corpus.encoder)
        self.graph = GraphSettings.of(settings.detector)
        self.simulated = not settings.federation.roster
        self.gathered: Gathered | None = None
        self.strategy: GuardStrategy | None = None

    def go(self) -> Results:
        settings = self.settings
        if settings.delivery.signing_key:
            require_signing_key(Path(settings.delivery.signing_key))
        started = time.monotonic()
        roster = roster_of(settings, self.encoder.fingerprint)
        gathered = gather(self.grid, roster, settings, self.encoder.fingerprint)
        if not self.simulated:
            self.folder.write_enrolment(gathered.record())
        strategy = build_strategy(gathered.cohort, settings, self.observer)
        self.gathered, self.strategy = gathered, strategy
        dimension = self.graph.node_width(self.encoder.dimension)
        detector = detector_of(settings.detector, dimension, seed=settings.seed)
        gathered_at = time.monotonic()
        train_rounds(self.grid, strategy, detector, settings, self.folder, self.observer)
        trained_at = time.monotonic()
        assessment = self.assess(strategy, detector, gathered.cohort)
        floors = floor_aurocs(settings) if self.simulated else None
        clients = client_figures(
            gathered.cohort, gathered.sizes, assessment.scores, self.folder.path / "metrics.jsonl"
        )
        self.save_guards(assessment, detector, gathered)
        test = assessment.scores
        self.folder.write_curves(score_curves(test.corroborated, test.label, test.domain))
        return {
            "calibration": assessment.calibration,
            "test": assessment.test,
            "local": assessment.local,
            "floors": floors,
            "clients": clients,
            "fairness": client_fairness(clients),
            "participation": participation(self.folder.path / "metrics.jsonl"),
            "parameters": len(flatten(detector)),
            "privacy": privacy_record(
                detector, settings.privacy, self.folder.path / "metrics.jsonl"
            ),
            "seconds": {
                "gather": round(gathered_at - started, 2),
                "train": round(trained_at - gathered_at, 2),
                "total": round(time.monotonic() - started, 2),
            },
        }

    def deliver(self) -> None:
        """Send the guards of the run to the sites that want one, if the host can sign them."""
        if self.gathered and self.strategy and self.settings.delivery.signing_key:
            path = self.folder.path
            deliveries = deliver(self.grid, self.gathered, self.strategy, path, self.settings)
            self.folder.write_delivery(delivery_record(deliveries))

    def assess(self, strategy: GuardStrategy, detector: Detector, cohort: Cohort) -> Assessment:
        """Calibrate and test the global model, or in the local arm every client's own."""
        scorer = Scorer(self.grid, strategy, self.settings)
        if isinstance(strategy, Local):
            models = {
                site: fused(detector, model, scorer, site)
                for site, model in strategy.models.items()
            }
            return assess_local_models(models, scorer, cohort, self.settings)
        return assess_global_model(
            fused(detector, flatten(detector), scorer), scorer, self.settings
        )

    def save_guards(self, assessment: Assessment, detector: Detector, gathered: Gathered) -> None:
        """Write the bundle that `Guard.load` reads; in the local arm one a site."""
        provenance = {
            "settings": values_of(self.settings),
            "domains": gathered.cohort.domains,
            "clients": len(gathered.cohort),
        }
        for site, (parameters, found) in assessment.guards.items():
            if found.pooled is None:
                continue
            load_flat(detector, parameters, f"the guard of {site or 'all sites'}")
            save_bundle(
                self.folder.path / (f"guards/{site}" if site else "guard"),
                detector,
                encoder=self.encoder,
                graph=self.graph,
                calibration=found.pooled,
                domains=found.domains,
                reference=found.reference,
                provenance=provenance,
            )
