"""The least that a site asks of a run before it takes part."""

from typing import get_args

from fglguard.errors import PrivacyError
from fglguard.settings import RunSettings
from privacy.levels import Level
from privacy.plans import LADDER, Privacy

_LEVELS: tuple[Level, ...] = get_args(Level)
_BINS = 100
"""Of a histogram: in many more, every score stands alone."""
_LEAST: dict[Privacy, tuple[Level, float, int]] = {
    "none": ("edge", float("inf"), 1),
    "aegis": ("bbp", 1.0, 16),
    "aegis_extended": ("dp_scale", 0.18, 16),
}
"""Level, kappa and fewest graphs of each rung as conf/privacy has them: a run that names a rung
and turns its noise down has not reached it."""


def require_floor(run: RunSettings, floor: str) -> None:
    """Refuse a run that hides less than `floor`.

    Args:
        run: Its settings.
        floor: `none`, `aegis` or `aegis_extended`.

    Raises:
        PrivacyError: The floor is unknown, or the run lies below it in its masks, its level, kappa
            or minimum_graphs, or for `aegis_extended` collects scores one by one; the text says
            in which.
    """
    if floor not in LADDER:
        raise PrivacyError(f"require-privacy: expected one of {', '.join(LADDER)}, got {floor!r}")
    settings = run.privacy
    level, kappa, graphs = _LEAST[floor]
    short = []
    if LADDER.index(settings.name) < LADDER.index(floor):
        short.append(f"privacy.name is {settings.name}")
    if _LEVELS.index(settings.level) < _LEVELS.index(level):
        short.append(f"privacy.level is {settings.level}, expected {level} or more")
    if settings.kappa > kappa:
        short.append(f"privacy.kappa is {settings.kappa:g}, expected at most {kappa:g}")
    if settings.minimum_graphs < graphs:
        short.append(f"privacy.minimum_graphs is {settings.minimum_graphs}, expected {graphs}")
    if floor == "aegis_extended":
        if run.calibration.scores != "histogram":
            short.append("calibration.scores is pairs, expected histogram")
        if run.calibration.bins > _BINS:
            short.append(f"calibration.bins is {run.calibration.bins}, expected at most {_BINS}")
    if short:
        raise PrivacyError(
            f"this site takes part only with privacy={floor} or more (require-privacy in its node "
            f"config), and the run hides less: {'; '.join(short)}"
        )
