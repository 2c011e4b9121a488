"""Runs in a local MLflow database, read back with MLflow's own client."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fglguard.errors import FederationError, SettingsError
from fglguard.settings import RunSettings
from scripts.hostile import hostile_app
from server.tracking.mlflow import MLflow
from server.tracking.store_lock import alone

pytestmark = pytest.mark.long


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def client(store):
    def connect():
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=f"sqlite:///{store / 'mlflow.db'}")

    return connect


def the_run(client):
    experiment = client.get_experiment_by_name("fglguard")
    (found,) = client.search_runs([experiment.experiment_id])
    return found


def test_the_database_holds_what_the_folder_says(tracked_run, expected, store, client):
    folder = tracked_run(tracking__mlflow=str(store), strategy__mu=0.125)
    reader = client()
    found = the_run(reader)
    assert found.info.status == "FINISHED"
    assert found.data.params["strategy.mu"] == "0.125"
    assert found.data.params["strategy.name"] == "fedprox"
    assert found.data.tags["run_folder"] == str(folder)
    for name, values in expected(folder).items():
        history = {
            metric.step: metric.value
            for metric in reader.get_metric_history(found.info.run_id, name)
        }
        assert history == pytest.approx(values, rel=1e-12), name


def test_a_failed_run_says_why(tracked_run, store, client):
    def no_loss(message, reply):
        reply.content["metrics"]["loss"] = math.nan

    app = hostile_app(None, no_loss)  # in a simulation no node config names a site
    with pytest.raises(FederationError):
        tracked_run(app, tracking__mlflow=str(store))
    found = the_run(client())
    assert found.info.status == "FAILED"
    assert "metrics.loss" in found.data.tags["error"]


def test_a_resumed_run_goes_on_with_its_mlflow_run(run_config, no_network, store, client, tmp_path):
    settings = RunSettings.from_flat(run_config(tracking__mlflow=str(store)))
    folder = tmp_path / "run"
    folder.mkdir()
    first = MLflow(store, folder, settings)
    first.round_done(1, 3, {"loss": 0.5})
    again = MLflow(store, folder, settings)
    again.round_done(2, 3, {"loss": 0.25})
    reader = client()
    run_id = json.loads((folder / "mlflow.json").read_text())["run_id"]
    assert the_run(reader).info.run_id == run_id
    history = reader.get_metric_history(run_id, "round/loss")
    assert [(metric.step, metric.value) for metric in history] == [(1, 0.5), (2, 0.25)]


def test_a_missing_package_is_named_before_the_run_starts(
    tracked_run, store, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(SettingsError, match=r"tracking\.mlflow.*fglguard\[tracking\]"):
        tracked_run(tracking__mlflow=str(store))
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_a_store_that_is_a_file_is_named(tracked_run, store):
    store.write_text("not a folder")
    with pytest.raises(SettingsError, match=r"tracking\.mlflow.*store"):
        tracked_run(tracking__mlflow=str(store))


def test_runs_of_a_sweep_may_share_a_new_store(run_config, store, client, tmp_path):
    """Three processes make the database at once; each writes 20 rounds of 50 clients."""
    program = """
import json, sys
from pathlib import Path
from fglguard.settings import RunSettings
from server.tracking.mlflow import MLflow

store, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir()
tracker = MLflow(store, folder, RunSettings.from_flat(json.loads(sys.argv[3])))
for step in range(20):
    tracker.write(step, {f"clients/{client}/loss": float(step) for client in range(50)})
tracker.close(None)
"""
    config = json.dumps(run_config(federation__rounds=1))
    root = Path(__file__).resolve().parents[3]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(store), str(tmp_path / f"run-{n}"), config],
            env={**os.environ, "PYTHONPATH": str(root)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for process in processes:
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
    reader = client()
    experiment = reader.get_experiment_by_name("fglguard")
    runs = reader.search_runs([experiment.experiment_id])
    assert [found.info.status for found in runs] == ["FINISHED"] * 3
    for found in runs:
        history = reader.get_metric_history(found.info.run_id, "clients/49/loss")
        assert sorted(metric.value for metric in history) == list(range(20))


def test_a_store_that_another_process_holds_is_not_waited_for_for_ever(tmp_path):
    with (
        alone(tmp_path, 1.0),
        pytest.raises(SettingsError, match=r"another process.*0\.2 s"),
        alone(tmp_path, 0.2),
    ):
        raise AssertionError("two processes hold the lock")
