"""Real sweeps through the command: real worker processes, real runs on a small silo."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from client.app import app as client_app
from scripts.generate_flower_config import composed
from server.app import app as server_app
from server.inprocess import simulate

pytestmark = pytest.mark.long


def folders(sweep: Path, digits: int = 8) -> dict[str, Path]:
    """The points' folders by their readable names."""
    return {path.name[: -digits - 1]: path for path in sweep.iterdir() if path.is_dir()}


def status(folder: Path) -> dict:
    return json.loads((folder / "status.json").read_text())


def model(folder: Path) -> bytes:
    return (folder / "guard" / "model.safetensors").read_bytes()


def test_a_failing_point_stops_nothing_and_a_rerun_runs_it_alone(sweep, tmp_path, run_directly):
    first = sweep("federation.clients=4,3", "seed=range(0,2)")
    assert first.returncode == 2, first.stderr
    assert "4 points: 2 completed, 2 failed" in first.stdout
    assert "multiple of the corpus' 2 domains" in first.stdout
    points = folders(tmp_path / "sweep")
    assert set(points) == {f"clients-{k}_seed-{s}" for k in (4, 3) for s in (0, 1)}
    for name, folder in points.items():
        wanted = "completed" if "clients-4" in name else "failed"
        assert status(folder)["state"] == wanted
    done, failed = points["clients-4_seed-1"], points["clients-3_seed-0"]
    before = [(path / "status.json").stat().st_mtime_ns for path in (done, failed)]

    again = sweep("federation.clients=4,3", "seed=range(0,2)", "strategy=fedprox")
    assert again.returncode == 2
    assert "4 points: 2 done before, 2 failed" in again.stdout
    after = [(path / "status.json").stat().st_mtime_ns for path in (done, failed)]
    assert after[0] == before[0]
    assert after[1] > before[1]
    assert folders(tmp_path / "sweep") == points

    # A point in a warm worker is the run that it would be alone, bit for bit.
    assert model(done) == model(run_directly(seed=1))


@pytest.fixture
def run_directly(tmp_path):
    def run(seed):
        config = composed("privacy.minimum_graphs=1") | {
            "corpus.name": "silos",
            "corpus.path": str(tmp_path / "silo"),
            "corpus.encoder": "hashed-words",
            "federation.clients": 4,
            "federation.rounds": 1,
            "seed": seed,
            "output": str(tmp_path / "alone"),
        }
        simulate(server_app, client_app, config)
        return tmp_path / "alone"

    return run


def test_invalid_settings_fail_their_point_alone(sweep):
    done = sweep("partition.purity=0.8,0.3")
    assert done.returncode == 2
    assert "2 points: 1 completed, 1 failed" in done.stdout
    assert "partition.purity: expected at least 0.5 and at most 1, got 0.3" in done.stdout


def test_points_of_one_outcome_run_once(sweep, tmp_path):
    done = sweep("federation.workers=1,2")
    assert done.returncode == 0, done.stderr
    assert "2 points: 2 completed" in done.stdout
    assert len(folders(tmp_path / "sweep")) == 1


def test_a_sweep_over_its_own_folder_is_refused(sweep):
    done = sweep("output=x,y")
    assert done.returncode == 2
    assert "output: expected one value for the whole sweep" in done.stderr


@pytest.fixture
def started(sweep_command, environment, tmp_path):
    """A sweep whose first point is in its rounds, as a group of its own, and that point's pid."""
    running = []

    def start(*overrides):
        process = subprocess.Popen(
            [*sweep_command, *overrides],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell's background jobs ignore Ctrl-C, and hand that down.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        running.append(process)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for path in (tmp_path / "sweep").glob("*rounds-100000*/metrics.jsonl"):
                return process, status(path.parent)["pid"]
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        raise AssertionError("the first point never began")

    yield start
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def ended(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_a_killed_worker_costs_its_point_alone(started, tmp_path):
    process, pid = started("federation.rounds=100000,1", "hydra.launcher.workers=1")
    os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    assert "2 points: 1 failed, 1 completed" in out
    points = folders(tmp_path / "sweep")
    assert "SIGKILL" in status(points["rounds-100000"])["error"]
    assert status(points["rounds-1"])["state"] == "completed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_workers_and_tells_what_is_missing(started, sweep, tmp_path, number):
    process, pid = started("federation.rounds=100000,1", "hydra.launcher.workers=1")
    second = sweep("federation.rounds=1")
    assert second.returncode == 2
    assert "another sweep works in" in second.stderr
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "2 points: 1 interrupted, 1 not run" in out
    assert ended(pid, 1)
    assert set(folders(tmp_path / "sweep")) == {"rounds-100000"}


def test_workers_end_with_a_sweep_that_was_killed(started):
    process, pid = started("federation.rounds=100000,1", "hydra.launcher.workers=1")
    process.kill()
    process.wait(30)
    assert ended(pid, 60)


def test_a_point_over_its_limit_is_stopped(sweep):
    done = sweep("federation.rounds=100000,1", "hydra.launcher.limit=40")
    assert done.returncode == 2
    assert "2 points: 1 failed, 1 completed" in done.stdout
    assert "did not end within 40 s" in done.stdout
