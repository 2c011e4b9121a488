import dataclasses

import pytest
from hydra import compose, initialize_config_dir

from fglguard.errors import PrivacyError
from fglguard.settings import PrivacySettings
from privacy.floor import require_floor
from scripts.generate_flower_config import ROOT

RUNGS = ("none", "aegis", "aegis_extended")


def settings_of(rung) -> PrivacySettings:
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        return PrivacySettings(**compose("config", overrides=[f"privacy={rung}"]).privacy)


@pytest.mark.parametrize("floor", RUNGS)
@pytest.mark.parametrize("rung", RUNGS)
def test_a_run_on_the_floor_or_above_is_taken_part_in(rung, floor) -> None:
    """With the packaged settings of each rung: exactly those below are refused."""
    if RUNGS.index(rung) >= RUNGS.index(floor):
        require_floor(settings_of(rung), floor)
    else:
        with pytest.raises(PrivacyError, match=rf"privacy={floor} or more.*privacy\.name is"):
            require_floor(settings_of(rung), floor)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"level": "edge"}, r"privacy\.level is edge, expected bbp or more"),
        ({"kappa": 50.0}, r"privacy\.kappa is 50, expected at most 1"),
        ({"minimum_graphs": 1}, r"privacy\.minimum_graphs is 1, expected 16"),
    ],
)
def test_a_rung_with_its_noise_turned_down_is_not_that_rung(change, told) -> None:
    with pytest.raises(PrivacyError, match=told):
        require_floor(dataclasses.replace(settings_of("aegis"), **change), "aegis")


def test_an_unknown_floor_is_an_error_not_none() -> None:
    with pytest.raises(PrivacyError, match="require-privacy: expected one of"):
        require_floor(settings_of("aegis"), "AEGIS")
