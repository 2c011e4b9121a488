"""A run that is killed and resumed ends as one that was never stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import client.app as client_module
from fglguard.bundle import load_bundle
from fglguard.errors import FederationError
from fglguard.parameters import flatten
from server.app import app as server_app
from server.inprocess import simulate

ROOT = Path(__file__).resolve().parent.parent.parent
SERVE = """
import json, sys
from client.app import app as client_app
from server.app import app as server_app
from server.inprocess import simulate
simulate(server_app, client_app, json.loads(sys.argv[1]))
"""


def run(config):
    simulate(server_app, client_module.app, config)
    return Path(config["output"])


def weights(folder):
    return flatten(load_bundle(folder / "guard").detector)


def start(config):
    return subprocess.Popen(
        [sys.executable, "-c", SERVE, json.dumps(config)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_after_round(process, folder, number):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any((folder / "checkpoints").glob(f"round-{number:04d}.*")):
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(10)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["fedprox", "scaffold", "feddc", "moon"])
def test_a_run_killed_in_any_round_resumes_to_the_same_bits(run_config, tmp_path, strategy):
    """kill -9 three times, each time later; the model and the log are those of a whole run."""
    changes = {
        "strategy.name": strategy,
        "strategy.drift": 0.1,
        "strategy.contrast": 1.0,
        "federation.rounds": 14,
        "federation.fraction": 0.75,
        "federation.minimum_clients": 1,
    }
    whole = run_config() | changes | {"output": str(tmp_path / "whole")}
    killed = whole | {"output": str(tmp_path / "killed")}
    folder = Path(killed["output"])
    for attempt, number in enumerate((1, 4, 8)):
        resume = {"resume": str(folder)} if attempt else {}
        kill_after_round(start(killed | resume), folder, number)
        assert json.loads((folder / "status.json").read_text())["state"] == "running"
    run(killed | {"resume": str(folder)})
    assert np.array_equal(weights(run(whole)), weights(folder))

    def rounds(path):
        lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
        return [(line["kind"], line["round"], line.get("site"), line["loss"]) for line in lines]

    assert rounds(folder) == rounds(tmp_path / "whole")


def test_a_run_with_other_settings_is_refused_and_the_difference_shown(run_config):
    first = run_config(federation__rounds=1)
    folder = run(first)
    other = first | {"federation.rounds": 2, "strategy.mu": 0.5, "resume": str(folder)}
    with pytest.raises(FederationError) as caught:
        run(other)
    assert "federation.rounds: 1 in the folder, 2 now" in str(caught.value)
    assert "strategy.mu: 0.01 in the folder, 0.5 now" in str(caught.value)
    assert "output" not in str(caught.value).partition("\n")[2]


def test_a_completed_run_is_not_resumed(run_config):
    config = run_config(federation__rounds=1)
    folder = run(config)
    with pytest.raises(FederationError, match="already completed"):
        run(config | {"resume": str(folder)})


def test_a_folder_without_a_run_is_not_resumed(run_config, tmp_path):
    with pytest.raises(FederationError, match=r"resume: expected a run's folder"):
        run(run_config(resume=str(tmp_path / "nowhere")))


def test_two_runs_on_one_folder(run_config, tmp_path):
    """The second is refused while the first is writing, and afterwards as well."""
    config = run_config(federation__rounds=200)
    folder = Path(config["output"])
    first = start(config)
    try:
        deadline = time.monotonic() + 60
        while not (folder / "metrics.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(FederationError, match="another run is writing"):
            run(config)
    finally:
        first.kill()
        first.wait(10)
    with pytest.raises(FederationError, match=r"already holds a run.*resume="):
        run(config)


def test_a_run_that_failed_after_training_goes_on_with_the_evaluation(run_config, monkeypatch):
    config = run_config(federation__rounds=2)
    folder = Path(config["output"])

    def no_space(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("server.run.save_bundle", no_space)
        with pytest.raises(OSError, match="No space"):
            run(config)
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"
    run(config | {"resume": str(folder)})
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    assert (folder / "guard" / "guard.json").exists()


@pytest.mark.parametrize(
    ("name", "content"), [("status.json", ""), ("metrics.jsonl", "{broken\n"), ("config.json", "")]
)
def test_damaged_files_are_named(run_config, name, content):
    config = run_config(federation__rounds=1)
    folder = run(config)
    (folder / "status.json").write_text('{"state": "failed"}')
    (folder / name).write_text(content)
    with pytest.raises(FederationError, match=name.replace(".", r"\.")):
        run(config | {"resume": str(folder)})


def test_a_disk_that_is_full_for_good_keeps_the_first_error(run_config, monkeypatch):
    """Nothing can be written any more, not even why: the checkpoint's error is what is told."""
    config = run_config(federation__rounds=2)
    real = os.fsync
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 3:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr("fglguard.files.os.fsync", full)
    with pytest.raises(FederationError, match=r"checkpoint can't be written.*untouched"):
        run(config)
