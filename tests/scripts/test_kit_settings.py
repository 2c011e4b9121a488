"""A run over real sites is the kit's run, and never one of fewer sites than was agreed on."""

import pytest

from fglguard.errors import SettingsError
from scripts.flower.connection import read_connection
from scripts.kit_settings import run_settings
from tests.scripts.provisioning.conftest import Kits


@pytest.fixture
def kit(tmp_path):
    kits = Kits(tmp_path)
    kits.values |= {"minimum_sites": 2, "require_privacy": "aegis_extended"}
    kits.make()
    return kits / "host"


def settings(kit, *overrides):
    return run_settings(read_connection(kit), overrides)


def test_what_every_run_needs_is_the_kits(kit):
    found = settings(kit)
    assert (found.federation.clients, found.federation.minimum_clients) == (2, 2)
    assert found.federation.roster == str(kit / "roster.json")
    assert (found.privacy.name, found.privacy.level) == ("aegis_extended", "dp_scale")
    assert found.calibration.scores == "histogram"
    assert found.corpus.encoder == "hashed-words"
    assert found.delivery.signing_key == str(kit / "host.key")


def test_the_command_line_says_otherwise(kit):
    """A group that is named is named whole: nothing of the kit's privacy is left in it."""
    found = settings(kit, "privacy=aegis", "calibration.bins=50", "delivery.signing_key=''")
    assert (found.privacy.name, found.privacy.level) == ("aegis", "bbp")
    assert (found.calibration.scores, found.calibration.bins) == ("histogram", 50)
    assert found.delivery.signing_key == ""


@pytest.mark.parametrize("given", ["federation.minimum_clients=1", "federation.clients=1"])
def test_fewer_sites_than_were_agreed_on_are_refused(kit, given):
    more = () if "minimum" in given else ("federation.minimum_clients=0",)
    with pytest.raises(SettingsError, match=r"expected at least 2, the consortium's minimum_sites"):
        settings(kit, given, *more)


@pytest.mark.parametrize("minimum", [0, 2])
def test_as_many_or_all_will_do(kit, minimum):
    found = settings(kit, f"federation.minimum_clients={minimum}")
    assert found.federation.minimum_clients == minimum
