"""All rounds of training, from the start or from where a killed run stopped."""

import time

from flwr.app import ConfigRecord
from flwr.serverapp import Grid

from fglguard.detector import Detector
from fglguard.parameters import flatten, layout, load_flat
from fglguard.settings import RunSettings
from server.checkpoints import Checkpoint, Checkpoints
from server.run_folder import RunFolder
from server.tracking.fan_out import FanOut
from server.training_round import train_round
from strategies.guard_strategy import GuardStrategy
from strategies.updates import pack_parameters, unpack_parameters


def train_rounds(
    grid: Grid,
    strategy: GuardStrategy,
    detector: Detector,
    settings: RunSettings,
    folder: RunFolder,
    observer: FanOut,
) -> None:
    """Train to the last round; the detector ends up holding the last global model.

    After each round the global model and the strategy's own vectors are kept. With
    `settings.resume` the newest of these is where it goes on: rounds draw from generators seeded
    by (seed, round, client) alone, and clients keep what they need by round, so that the end is
    that of a run which was never stopped, bit for bit.
    """
    federation = settings.federation
    checkpoints = Checkpoints(folder.path / "checkpoints", federation.checkpoints, layout(detector))
    done = _start(strategy, detector, folder, checkpoints, resume=bool(settings.resume))
    strategy.summary()
    arrays = pack_parameters(flatten(detector))
    config = ConfigRecord({"seed": settings.seed, "run_folder": str(folder.path)})
    for server_round in range(done + 1, federation.rounds + 1):
        began = time.monotonic()
        arrays, metrics = train_round(
            grid, strategy, observer, federation, server_round, arrays, config
        )
        parameters = unpack_parameters(arrays)
        load_flat(detector, parameters, "the aggregate")
        told = {**metrics, "duration": round(time.monotonic() - began, 3)}
        # Before the checkpoint: a resumed run drops what was logged after it.
        folder.round_done(server_round, federation.rounds, told)
        checkpoints.save(Checkpoint(server_round, parameters, strategy.state()))
        observer.round_done(server_round, federation.rounds, told)


def _start(
    strategy: GuardStrategy,
    detector: Detector,
    folder: RunFolder,
    checkpoints: Checkpoints,
    *,
    resume: bool,
) -> int:
    """Load the newest checkpoint, if the run is resumed; returns the rounds that are done."""
    if not resume:
        return 0
    checkpoint = checkpoints.newest()
    done = checkpoint.server_round if checkpoint else 0
    folder.forget_after(done)
    if checkpoint:
        load_flat(detector, checkpoint.parameters, f"the checkpoint of round {done}")
        strategy.restore(checkpoint.state)
        strategy.used = folder.last_used()
    return done
