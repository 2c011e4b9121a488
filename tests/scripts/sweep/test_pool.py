"""Workers that die, as the pool's user sees it: real processes, real runs on a small silo."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from scripts.generate_flower_config import composed
from scripts.sweep.pool import Pool

pytestmark = pytest.mark.long


@pytest.fixture
def task(make_silo, tmp_path):
    silo = make_silo()

    def settings(name: str, rounds: int):
        return composed("privacy.minimum_graphs=1", "detector=paper") | {
            "corpus.name": "silos",
            "corpus.path": str(silo.path),
            "corpus.encoder": "hashed-words",
            "federation.clients": 4,
            "federation.rounds": rounds,
            "output": str(tmp_path / name),
        }

    return settings


def kill(run: Path) -> None:
    """Kill the process that works on a run once it has begun, and wait until it is gone."""
    deadline = time.monotonic() + 60
    while not (run / "status.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    pid = json.loads((run / "status.json").read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_worker_that_dies_while_another_ones_end_is_told_costs_its_task(task, tmp_path):
    """The pool has looked at the first worker before it tells of the second one's end."""
    pool = Pool(workers=2, limit=300)
    ended = {}
    try:
        for number, error in pool.run([task("endless", 100000), task("short", 1)], lambda _: None):
            ended[number] = error
            if number == 1:
                kill(tmp_path / "endless")
    finally:
        pool.stop()
    assert set(ended) == {0, 1}
    assert ended[1] is None
    assert "SIGKILL" in ended[0]
