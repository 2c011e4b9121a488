from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.numpy

import fglguard.files
from client.state import ClientState, state_of
from fglguard.errors import SettingsError, StateError


def vectors(value):
    return {"control": np.full(3, value, dtype=np.float32)}


def files(state):
    return sorted(child.name for child in state.folder.iterdir())


def test_nothing_is_kept_before_the_first_round(tmp_path):
    state = ClientState(tmp_path / "a")
    assert state.load(1) == {}
    assert not state.folder.exists()


def test_what_is_loaded_is_the_newest_round_below_the_one_asked_for(tmp_path):
    state = ClientState(tmp_path / "a")
    state.save(3, vectors(3))
    state.save(7, vectors(7))
    assert state.load(3) == {}
    for server_round, value in ((4, 3), (7, 3), (8, 7), (50, 7)):
        assert state.load(server_round)["control"].tolist() == [value] * 3


def test_a_round_that_is_repeated_starts_from_where_it_started_before(tmp_path):
    """The server is killed in round 3 after this client has saved, and goes on from round 2."""
    state = ClientState(tmp_path / "a")
    for number in (1, 2, 3):
        state.save(number, vectors(number))
    assert state.load(3)["control"][0] == 2
    state.save(3, vectors(33))
    assert state.load(4)["control"][0] == 33
    assert files(state) == ["round-0002.safetensors", "round-0003.safetensors"]


def test_the_two_newest_rounds_stay_and_later_ones_go(tmp_path):
    state = ClientState(tmp_path / "a")
    for number in (1, 2, 9, 12000):
        state.save(number, vectors(number))
    assert files(state) == ["round-0009.safetensors", "round-12000.safetensors"]
    state.save(10, vectors(10))
    assert files(state) == ["round-0009.safetensors", "round-0010.safetensors"]


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    state = ClientState(tmp_path / "a")
    state.save(1, vectors(1))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fglguard.files.os, "fsync", full)
    for number in (1, 2):
        with pytest.raises(OSError, match="No space left"):
            state.save(number, vectors(99))
    assert [child.name for child in state.folder.iterdir()] == ["round-0001.safetensors"]
    assert state.load(2)["control"][0] == 1


def test_damage_is_told_with_the_files_path(tmp_path):
    state = ClientState(tmp_path / "a")
    state.save(1, vectors(1))
    path = state.folder / "round-0001.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(StateError, match=r"a/round-0001\.safetensors: expected a safetensors file"):
        state.load(2)
    path.write_bytes(safetensors.numpy.save({"control": np.zeros((2, 2))}))
    with pytest.raises(StateError, match=r"control: expected a flat float32 vector, got float64"):
        state.load(2)


def context(**node_config):
    return SimpleNamespace(node_config=node_config)


def test_a_simulations_state_lies_in_the_runs_folder_one_folder_a_site():
    simulated = context(**{"partition-id": 0, "num-partitions": 2})
    folders = [
        str(state_of(simulated, "/runs/one", site).folder)
        for site in ("a-0", "meta/llama 3", "..", ".hidden", "%2E")
    ]
    assert folders[0] == "/runs/one/clients/a-0"
    assert folders[1] == "/runs/one/clients/meta%2Fllama 3"
    assert folders[2:] == [f"/runs/one/clients/{n}" for n in ("%2E.", "%2Ehidden", "%252E")]


def test_a_real_sites_state_lies_beside_its_silo_under_the_runs_name():
    real = context(**{"data-path": "/srv/silo", "site": "a"})
    state = state_of(real, "/home/host/runs/2026-01-02_03-04", "a")
    assert str(state.folder) == "/srv/silo/state/2026-01-02_03-04"


@pytest.mark.parametrize("folder", ["", "/", "/runs/..", "/runs/a b", "/runs/a\nb", "/runs/ä"])
def test_a_runs_name_that_could_leave_the_folder_is_refused(folder):
    real = context(**{"data-path": "/srv/silo", "site": "a"})
    with pytest.raises(SettingsError, match="run_folder: expected a last name of letters"):
        state_of(real, folder, "a")
