"""The same run through `flwr run` on Ray: real SuperLink, real Ray actors."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fglguard.bundle import load_bundle
from fglguard.errors import FederationError
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from scripts.flower_run import flower_run
from server.app import app as server_app

pytestmark = pytest.mark.long


def flower_processes():
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if "flower-superlink" in line]


def test_ray_gives_the_bits_that_a_run_in_process_gives(run_config, tmp_path):
    from client.app import app as client_app
    from server.inprocess import simulate

    config = run_config()
    simulate(server_app, client_app, config)
    on_ray = config | {"output": str(tmp_path / "ray"), "federation.backend": "ray"}
    flower_run(RunSettings.from_flat(on_ray))
    ours = load_bundle(Path(config["output"]) / "guard").detector
    theirs = load_bundle(tmp_path / "ray" / "guard").detector
    assert np.array_equal(flatten(ours), flatten(theirs))
    assert not flower_processes()


def test_a_failed_run_tells_what_the_clients_said(run_config):
    """The server reads index arrays only; with damaged node features every client fails."""
    config = run_config(federation__backend="ray", federation__rounds=1)
    for path in Path(config["corpus.path"]).rglob("x.npy"):
        with path.open("r+b") as file:
            file.write(b"damaged")
    with pytest.raises(FederationError, match=r"a client failed: client \d: SiloError: .*x\.npy"):
        flower_run(RunSettings.from_flat(config))
    assert not flower_processes()


def test_the_command_exits_non_zero_when_the_run_fails(run_config, tmp_path):
    config = run_config(federation__backend="ray", federation__rounds=1)
    arguments = [
        f"{key}={value}"
        for key, value in config.items()
        if key.startswith(("federation.", "corpus.path", "corpus.encoder", "output"))
        and value != ""
    ]
    for file in Path(config["corpus.path"]).rglob("manifest.json"):
        file.write_text("{}")
    root = Path(__file__).resolve().parent.parent.parent
    done = subprocess.run(
        [sys.executable, str(root / "scripts" / "simulate.py"), "corpus=silos", *arguments],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "manifest.json" in done.stderr
