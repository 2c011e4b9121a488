"""`run.toml` and the README's command: read by Flower, and no site's floor refuses them."""

import pytest
from flwr.common.config import parse_config_args

from fglguard.settings import RunSettings
from privacy.floor import require_floor
from privacy.plans import LADDER
from scripts.configuration import composed_values
from scripts.provisioning.consortium import read_consortium
from scripts.provisioning.run_config import place_run_config, run_overrides


@pytest.mark.parametrize("floor", LADDER)
def test_a_run_of_the_kit_reaches_the_floor_of_its_sites(kits, floor):
    kits.values.update(require_privacy=floor, minimum_sites=2)
    kits.make()
    own = parse_config_args([str(kits / "host" / "run.toml")])
    run = RunSettings.from_flat({**composed_values([]), **own})
    require_floor(run, floor)
    assert (run.federation.clients, run.federation.minimum_clients) == (2, 2)
    assert run.federation.roster == str(kits / "host" / "roster.json")
    assert (run.corpus.encoder, run.privacy.name) == ("hashed-words", floor)
    # The same, as a person types it.
    typed = composed_values(run_overrides(read_consortium(kits.file)))
    assert {key: value for key, value in own.items() if key != "federation.roster"} == {
        key: typed[key] for key in own if key != "federation.roster"
    }


def test_the_roster_is_found_where_a_kit_was_moved_to(kits, tmp_path):
    kits.make()
    moved = (kits / "host").rename(tmp_path / "else where")
    before = parse_config_args([str(moved / "run.toml")])
    place_run_config(moved)
    after = parse_config_args([str(moved / "run.toml")])
    assert after == {**before, "federation.roster": str(moved / "roster.json")}
