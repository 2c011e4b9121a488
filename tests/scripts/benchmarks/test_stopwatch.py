"""A stopwatch times calls by name and leaves everything as it was."""

import time
from types import SimpleNamespace

import pytest

from scripts.benchmarks.stopwatch import Stopwatch


def spin() -> str:
    until = time.process_time() + 0.01
    while time.process_time() < until:
        pass
    return "done"


def test_parts_add_up_and_a_reading_starts_anew() -> None:
    """Two calls of at least 10 ms each belong to `busy`, none to `idle`."""
    holder = SimpleNamespace(spin=spin, rest=spin)
    watch = Stopwatch({"busy": [(holder, "spin")], "idle": [(holder, "rest")]})
    with watch.running():
        assert [holder.spin(), holder.spin()] == ["done", "done"]
    assert holder.spin is spin
    seconds = watch.read()
    assert seconds["busy"] >= 0.02
    assert seconds["idle"] == 0
    assert watch.read() == {"busy": 0, "idle": 0}


def test_functions_are_put_back_after_an_error() -> None:
    holder = SimpleNamespace(spin=spin)
    with pytest.raises(KeyError), Stopwatch({"busy": [(holder, "spin")]}).running():
        raise KeyError
    assert holder.spin is spin
