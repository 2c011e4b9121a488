"""The mask of one client in one round, and the least that a site asks for."""

from flwr.app import Context

from client.instructions import Instructions
from fglguard.detector import Detector
from fglguard.settings import PrivacySettings
from privacy.floor import require_floor
from privacy.noise import Noise, SecureNoise, SeededNoise
from privacy.update_mask import UpdateMask

FLOOR = "require-privacy"
"""Key of a SuperNode's node config."""

_NOISE = 0x4D41534B
"""Parts the noise's seed from that of the shuffles."""


def update_mask(
    detector: Detector,
    settings: PrivacySettings,
    instructions: Instructions,
    *,
    simulated: bool,
) -> UpdateMask:
    """The client's mask; a simulation's noise repeats with the run's seed, a site's never does."""
    noise: Noise = SecureNoise()
    if simulated:
        noise = SeededNoise((instructions.seed, instructions.round, instructions.index, _NOISE))
    return UpdateMask(detector, settings, noise)


def check_floor(context: Context, settings: PrivacySettings) -> None:
    """Refuse to take part in a run that hides less than this site's node config asks for.

    Raises:
        PrivacyError: See `privacy.floor.require_floor`.
    """
    require_floor(settings, str(context.node_config.get(FLOOR, "none")))
