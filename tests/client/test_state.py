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
    assert state.load(0) == {}
    assert not state.folder.exists()


def test_what_is_loaded_is_the_round_that_was_used_and_no_other(tmp_path):
    state = ClientState(tmp_path / "a")
    state.save(3, vectors(3), since=0)
    state.save(7, vectors(7), since=3)
    for since in (3, 7):
        assert state.load(since)["control"].tolist() == [since] * 3
    for since in (0, 2, 6, 50):
        assert state.load(since) == {}


def test_a_round_that_is_repeated_starts_from_where_it_started_before(tmp_path):
    """The server is killed in round 3 after this client has saved, and goes on from round 2."""
    state = ClientState(tmp_path / "a")
    for number in (1, 2, 3):
        state.save(number, vectors(number), since=number - 1)
    assert state.load(2)["control"][0] == 2
    state.save(3, vectors(33), since=2)
    assert state.load(3)["control"][0] == 33
    assert files(state) == ["round-0002.safetensors", "round-0003.safetensors"]


def test_updates_that_were_not_used_leave_no_trace(tmp_path):
    """Used in round 1, too late in 4 and 5: round 9 goes on from round 1."""
    state = ClientState(tmp_path / "a")
    state.save(1, vectors(1), since=0)
    for number in (4, 5):
        state.save(number, vectors(number), since=1)
    assert files(state) == ["round-0001.safetensors", "round-0005.safetensors"]
    assert state.load(1)["control"][0] == 1


def test_another_run_of_the_same_name_starts_from_nothing(tmp_path):
    ClientState(tmp_path / "a").save(12000, vectors(5), since=11999)
    state = ClientState(tmp_path / "a")
    assert state.load(0) == {}
    state.save(1, vectors(1), since=0)
    assert files(state) == ["round-0001.safetensors"]


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    state = ClientState(tmp_path / "a")
    state.save(1, vectors(1), since=0)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fglguard.files.os, "fsync", full)
    for number in (1, 2):
        with pytest.raises(OSError, match="No space left"):
            state.save(number, vectors(99), since=0)
    assert [child.name for child in state.folder.iterdir()] == ["round-0001.safetensors"]
    assert state.load(1)["control"][0] == 1


def test_damage_is_told_with_the_files_path(tmp_path):
    state = ClientState(tmp_path / "a")
    state.save(1, vectors(1), since=0)
    path = state.folder / "round-0001.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(StateError, match=r"a/round-0001\.safetensors: expected a safetensors file"):
        state.load(1)
    path.write_bytes(safetensors.numpy.save({"control": np.zeros((2, 2))}))
    with pytest.raises(StateError, match=r"control: expected a flat float32 vector, got float64"):
        state.load(1)


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
