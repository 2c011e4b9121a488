import json
import socket
from pathlib import Path

import pytest

import client.app as client_module
from server.app import app as server_app
from server.inprocess import simulate


@pytest.fixture
def no_network(monkeypatch):
    """Whatever would reach another machine fails."""

    def refuse(self, address):
        raise AssertionError(f"a connection to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)


@pytest.fixture
def tracked_run(run_config, no_network):
    """Runs with a tracker on; returns the run folder."""

    def go(client_app=client_module.app, **changes):
        config = run_config(federation__rounds=2, **changes)
        simulate(server_app, client_app, config)
        return Path(config["output"])

    return go


@pytest.fixture
def expected():
    """The figures of `metrics.jsonl` and `results.json`: {name: {step: value}}."""

    def read(folder):
        figures: dict[str, dict[int, float]] = {}
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            record = json.loads(line)
            step = record["round"]
            if record["kind"] == "train":
                for name in ("loss", "update_norm", "weight", "nodes"):
                    figures.setdefault(f"clients/{record['site']}/{name}", {})[step] = record[name]
            elif record["kind"] == "round":
                figures.setdefault("round/loss", {})[step] = record["loss"]
        test = json.loads((folder / "results.json").read_text())["test"]
        for domain, estimates in {**test["domains"], "pooled": test["pooled"]}.items():
            for name in ("auroc_raw", "recall"):
                figures[f"test/{domain}/{name}"] = {2: estimates[name]["value"]}
        assert len(figures) == 4 * 4 + 1 + 3 * 2
        return figures

    return read
