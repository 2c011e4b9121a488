"""What the command line may say beside `resume`."""

import json

import pytest

from fglguard.errors import FederationError, SettingsError
from scripts.resume import with_settings_of_the_folder

HELD = {"seed": 3, "strategy.name": "moon", "federation.workers": 2, "output": "there"}


@pytest.fixture
def flat(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(HELD))
    now = {"seed": 0, "strategy.name": "fedprox", "federation.workers": 4, "output": ""}
    return {**now, "resume": str(tmp_path)}


def test_the_folders_settings_are_taken_but_for_those_that_change_no_outcome(flat):
    got = with_settings_of_the_folder(flat, [f"resume={flat['resume']}"])
    assert (got["seed"], got["strategy.name"], got["federation.workers"]) == (3, "moon", 4)


@pytest.mark.parametrize("override", ["seed=0", "strategy=fedprox"])
def test_what_is_named_is_kept_so_that_the_difference_shows(flat, override):
    got = with_settings_of_the_folder(flat, [override])
    key = "seed" if override.startswith("seed") else "strategy.name"
    assert got[key] == flat[key]


@pytest.mark.parametrize("override", ["experiment=purity", "+experiment=purity", "output=x"])
def test_a_preset_or_another_folder_is_refused(flat, override):
    with pytest.raises(SettingsError, match="expected none beside resume"):
        with_settings_of_the_folder(flat, [override])


def test_a_folder_without_a_run_is_named(flat, tmp_path):
    nowhere = tmp_path / "nowhere"
    for path, found in (
        (nowhere, "there is no such folder"),
        (tmp_path.parent, "it holds no config.json"),
        (tmp_path / "config.json", "it is a file"),
    ):
        with pytest.raises(FederationError, match=found) as caught:
            with_settings_of_the_folder({**flat, "resume": str(path)}, [])
        assert str(caught.value).count(str(path)) == 1
        assert "such as runs/NAME" in str(caught.value)
