import dataclasses

import pytest

from fglguard.errors import PrivacyError
from fglguard.settings import RunSettings
from privacy.floor import require_floor
from scripts.generate_flower_config import composed

RUNGS = ("none", "aegis", "aegis_extended")
COUNTED = ("calibration.scores=histogram", "calibration.bins=100")


def settings_of(rung, *overrides) -> RunSettings:
    return RunSettings.from_flat(composed(f"privacy={rung}", *overrides))


@pytest.mark.parametrize("floor", RUNGS)
@pytest.mark.parametrize("rung", RUNGS)
def test_a_run_on_the_floor_or_above_is_taken_part_in(rung, floor) -> None:
    """With the packaged settings of each rung: exactly those below are refused."""
    if RUNGS.index(rung) >= RUNGS.index(floor):
        require_floor(settings_of(rung, *COUNTED), floor)
    else:
        with pytest.raises(PrivacyError, match=rf"privacy={floor} or more.*privacy\.name is"):
            require_floor(settings_of(rung, *COUNTED), floor)


def test_the_highest_rung_lets_no_score_out_by_itself() -> None:
    pairs = settings_of("aegis_extended", "calibration.scores=pairs")
    require_floor(pairs, "aegis")
    with pytest.raises(PrivacyError, match=r"calibration\.scores is pairs, expected histogram"):
        require_floor(pairs, "aegis_extended")
    fine = settings_of("aegis_extended", COUNTED[0], "calibration.bins=101")
    with pytest.raises(PrivacyError, match=r"calibration\.bins is 101, expected at most 100"):
        require_floor(fine, "aegis_extended")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"level": "edge"}, r"privacy\.level is edge, expected bbp or more"),
        ({"kappa": 50.0}, r"privacy\.kappa is 50, expected at most 1"),
        ({"minimum_graphs": 1}, r"privacy\.minimum_graphs is 1, expected 16"),
    ],
)
def test_a_rung_with_its_noise_turned_down_is_not_that_rung(change, told) -> None:
    run = settings_of("aegis")
    run = dataclasses.replace(run, privacy=dataclasses.replace(run.privacy, **change))
    with pytest.raises(PrivacyError, match=told):
        require_floor(run, "aegis")


def test_an_unknown_floor_is_an_error_not_none() -> None:
    with pytest.raises(PrivacyError, match="require-privacy: expected one of"):
        require_floor(settings_of("aegis"), "AEGIS")
