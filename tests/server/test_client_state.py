"""What clients keep between rounds, over whole runs with faults."""

from pathlib import Path

import pytest
import safetensors.numpy

import client.app as client_module
from client.state import ClientState
from server.app import app as server_app
from server.inprocess import simulate
from server.run_folder import RunFolder


def test_c_stays_the_mean_of_the_clients_own_whatever_comes_too_late(run_config):
    """Half of the clients count a round, all are asked, some drop out: c = (1 / N) sum of c_k."""
    config = run_config(
        strategy__name="scaffold",
        federation__rounds=6,
        federation__fraction=0.5,
        federation__over_selection=1.0,
        federation__minimum_clients=1,
        faults__straggler=0.4,
        faults__dropout=0.2,
    )
    simulate(server_app, client_module.app, config)
    folder = Path(config["output"])
    assert any('"surplus"' in line for line in (folder / "metrics.jsonl").open())
    used = RunFolder(folder).last_used()
    own = [
        ClientState(folder / "clients" / site).load(used.get(site, 0)).get("control", 0.0)
        for site in ("a-0", "a-1", "b-0", "b-1")
    ]
    newest = sorted((folder / "checkpoints").iterdir())[-1]
    control = safetensors.numpy.load_file(newest)["strategy/control"]
    assert control == pytest.approx(sum(own) / 4, abs=1e-6)
    assert abs(control).max() > 1e-4
