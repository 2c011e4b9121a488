"""The mask of one client in one round, and the least that a site asks for."""

import dataclasses
from collections.abc import Mapping

from flwr.app import Context

from client.instructions import Instructions
from fglguard.detector import Detector
from fglguard.errors import PrivacyError
from fglguard.objectives.objective import Objective
from fglguard.settings import PrivacySettings, RunSettings
from fglguard.training import TrainingReport
from privacy.floor import require_floor
from privacy.noise import Noise, SecureNoise, SeededNoise
from privacy.plans import Privacy
from privacy.update_mask import UpdateMask

FLOOR = "require-privacy"
"""Key of a SuperNode's node config."""

_COUNTS = ("steps", "graphs", "nodes")
_TOLD: Mapping[Privacy, tuple[str, ...]] = {
    "none": tuple(field.name for field in dataclasses.fields(TrainingReport)),
    "aegis": ("loss", "term", *_COUNTS),
    "aegis_extended": _COUNTS,
}
"""Figures of local training that a mask lets go; what is not named here stays at the site."""

_NOISE = 0x4D41534B
"""Parts the noise's seed from that of the shuffles."""


def update_mask(
    detector: Detector,
    settings: PrivacySettings,
    instructions: Instructions,
    *,
    looks: int,
    simulated: bool,
) -> UpdateMask:
    """The client's mask; a simulation's noise repeats with the run's seed, a site's never does.

    Args:
        detector: What trains.
        settings: The run's.
        instructions: Of this round.
        looks: See `looks_of`.
        simulated: Whether this process simulates a site.
    """
    noise: Noise = SecureNoise()
    if simulated:
        noise = SeededNoise((instructions.seed, instructions.round, instructions.index, _NOISE))
    return UpdateMask(detector, settings, noise, looks=looks)


def looks_of(settings: PrivacySettings, objective: Objective, steps: int) -> int:
    """How many masked vectors of the same data a round's export lets the server average.

    With `gradient` the exported change adds up every step's masked gradient, and over k steps the
    signal grows with k, the noise with sqrt(k). With `delta` there is one change, and whatever else
    the objective exports.

    Args:
        settings: The run's.
        objective: The strategy's.
        steps: Optimizer steps of the round.
    """
    return steps if settings.mode == "gradient" else 1 + objective.further


def check_floor(context: Context, settings: RunSettings) -> None:
    """Refuse to take part in a run that hides less than this site's node config asks for.

    Raises:
        PrivacyError: See `privacy.floor.require_floor`; or the node config has the key misspelt.
    """
    for key in context.node_config:
        if "privacy" in key.lower() and key != FLOOR:
            raise PrivacyError(f"node config: expected the key {FLOOR}, got {key}")
    require_floor(settings, str(context.node_config.get(FLOOR, "none")))


def report_of(
    training: TrainingReport, mask: UpdateMask, settings: PrivacySettings
) -> dict[str, int | float]:
    """What a reply says of local training.

    Norms of what was trained are numbers of their own about the data, which the server can take of
    the masked export: no mask returns them. A round's mean loss under a known model, or the number
    of agents in its graphs, is one equation about who is in the batch: `aegis_extended` returns
    none, and the client's weight is then its number of graphs.
    """
    known = dataclasses.asdict(training)
    told = {name: known[name] for name in _TOLD[settings.name]}
    if settings.name == "aegis_extended":
        told["nodes"] = training.graphs
    return {**told, **mask.figures()}
