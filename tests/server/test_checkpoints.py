"""Checkpoints: whole or not there, the newest found, older ones let go."""

import errno

import numpy as np
import pytest

from fglguard.errors import FederationError
from fglguard.parameters import Segment
from server.checkpoints import Checkpoint, Checkpoints

SEGMENTS = (Segment("weight", (2, 3), 0), Segment("bias", (), 6))


def vector(start):
    return np.arange(start, start + 7, dtype=np.float32)


def test_the_newest_comes_back_with_the_strategys_vectors(tmp_path):
    kept = Checkpoints(tmp_path, 2, SEGMENTS)
    for number in (1, 2, 3):
        kept.save(Checkpoint(number, vector(number), {"variate": vector(-number)}))
    newest = kept.newest()
    assert newest.server_round == 3
    assert np.array_equal(newest.parameters, vector(3))
    assert list(newest.state) == ["variate"]
    assert np.array_equal(newest.state["variate"], vector(-3))
    assert len(list(tmp_path.iterdir())) == 2


def test_none_before_the_first_round(tmp_path):
    assert Checkpoints(tmp_path / "nowhere", 2, SEGMENTS).newest() is None


def test_a_full_disk_in_mid_checkpoint_leaves_the_last_good_one(tmp_path, monkeypatch):
    """The write of round 2 fails as a full disk fails, after the file was opened."""
    kept = Checkpoints(tmp_path, 1, SEGMENTS)
    kept.save(Checkpoint(1, vector(1)))

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fglguard.files.os.fsync", full)
    with pytest.raises(FederationError, match=r"round 2: .*No space left.*untouched"):
        kept.save(Checkpoint(2, vector(2)))
    assert kept.newest().server_round == 1
    assert [path.name for path in tmp_path.iterdir()] == ["round-0001.safetensors"]


def test_a_damaged_file_is_named(tmp_path):
    kept = Checkpoints(tmp_path, 2, SEGMENTS)
    kept.save(Checkpoint(1, vector(1)))
    (tmp_path / "round-0001.safetensors").write_bytes(b"not this")
    with pytest.raises(FederationError, match=r"round-0001\.safetensors can't be read"):
        kept.newest()


def test_another_detectors_file_is_refused(tmp_path):
    Checkpoints(tmp_path, 2, SEGMENTS).save(Checkpoint(1, vector(1)))
    with pytest.raises(FederationError, match="a parameter named 'other'"):
        Checkpoints(tmp_path, 2, (Segment("other", (7,), 0),)).newest()


def test_rounds_are_counted_not_spelled(tmp_path):
    kept = Checkpoints(tmp_path, 2, SEGMENTS)
    for number in (9998, 9999, 10000, 10001):
        kept.save(Checkpoint(number, vector(number)))
    assert kept.newest().server_round == 10001
    assert sorted(path.name[6:11] for path in tmp_path.iterdir()) == ["10000", "10001"]
