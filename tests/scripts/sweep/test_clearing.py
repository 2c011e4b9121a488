"""Clearing a point's folder, with a real lock of another process' kind."""

import pytest

from fglguard.errors import FederationError
from scripts.sweep.clearing import clear
from server.run_folder import LOCK, RunFolder


def test_everything_goes_but_the_lock(tmp_path):
    place = tmp_path / "point"
    clear(place)
    (place / "status.json").write_text("{}")
    (place / "clients").mkdir()
    (place / "clients" / "a").write_text("x")
    clear(place)
    assert [child.name for child in place.iterdir()] == [LOCK]


def test_a_folder_that_a_run_writes_to_is_left_alone(tmp_path):
    place = tmp_path / "point"
    clear(place)
    (place / "metrics.jsonl").write_text("{}")
    run = RunFolder(place)
    run.lock()
    with pytest.raises(FederationError, match="another run is writing"):
        clear(place)
    assert (place / "metrics.jsonl").exists()
    run.close()
    clear(place)
    assert not (place / "metrics.jsonl").exists()
