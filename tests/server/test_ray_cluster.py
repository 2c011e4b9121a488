"""A run on a Ray cluster that is up: two real Ray nodes, started as an operator starts them."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from fglguard.bundle import load_bundle
from fglguard.errors import FederationError, SettingsError
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from scripts.flower.processes import BIN, end, free_port
from scripts.flower_run import flower_run
from server.app import app as server_app

pytestmark = pytest.mark.long

ASK = """
import ray, sys
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
print(sum(node["Alive"] for node in ray.nodes()), int(ray.cluster_resources().get("CPU", 0)))
"""
ASK_ACTORS = """
import ray, sys
from ray._private.state import actors  # the public way asks the dashboard, which does not run
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
print(*sorted(one["Address"]["NodeID"] for one in actors().values()))
"""
START_SECONDS = 120


def node(folder, *arguments):
    """One node of one processor, the leader of a session."""
    command = [
        *(str(BIN / "ray"), "start", "--block", "--num-cpus=1", "--disable-usage-stats"),
        *(f"--dashboard-agent-listen-port={free_port()}", "--dashboard-agent-grpc-port=0"),
        *arguments,
    ]
    with (folder / "ray.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "RAY_worker_niceness": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def ask(address, words=ASK):
    """What Python prints that asks a cluster; nothing if it does not answer."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        asked = subprocess.run(
            [sys.executable, "-c", words, address],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return asked.stdout.split()
    return []


@pytest.fixture(scope="module")
def cluster():
    # Ray's sockets lie in here, and their paths may be but 107 bytes long.
    folder = Path(tempfile.mkdtemp(prefix="fg"))
    port = free_port()
    address = f"127.0.0.1:{port}"
    processes = []
    try:
        processes.append(
            node(
                folder,
                *("--head", f"--port={port}", "--include-dashboard=false"),
                *(f"--temp-dir={folder}", f"--ray-client-server-port={free_port()}"),
            )
        )
        until = time.monotonic() + START_SECONDS
        while ask(address) != ["1", "1"]:
            assert time.monotonic() < until, (folder / "ray.log").read_text()
            time.sleep(0.5)
        processes.append(node(folder, f"--address={address}"))
        while ask(address) != ["2", "2"]:
            assert time.monotonic() < until, (folder / "ray.log").read_text()
            time.sleep(0.5)
        yield address
    finally:
        for process in reversed(processes):
            end(process)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_cluster_of_two_nodes_gives_the_bits_of_a_run_in_process(cluster, run_config, tmp_path):
    """Each node has one processor, and a client takes one: two workers are one on each node."""
    from client.app import app as client_app
    from server.inprocess import simulate

    config = run_config()
    simulate(server_app, client_app, config)
    on_cluster = {
        "output": str(tmp_path / "cluster" / "run"),
        "federation.backend": "ray",
        "federation.ray.address": cluster,
    }
    flower_run(RunSettings.from_flat(config | on_cluster))
    folder = tmp_path / "cluster" / "run"
    ours = load_bundle(Path(config["output"]) / "guard").detector
    theirs = load_bundle(folder / "guard").detector
    assert np.array_equal(flatten(ours), flatten(theirs))
    workers = ask(cluster, ASK_ACTORS)
    assert len(workers) == len(set(workers)) == 2, "one on each node"
    assert [one.name for one in (tmp_path / "cluster").iterdir()] == ["run"], "nothing is left"
    assert ask(cluster) == ["2", "2"], "the cluster is left as it was"


def test_where_no_cluster_is_that_is_told_at_once(run_config):
    address = f"127.0.0.1:{free_port()}"
    config = run_config(federation__backend="ray") | {"federation.ray.address": address}
    began = time.monotonic()
    with pytest.raises(FederationError, match=f"a Ray cluster at {address}, nobody answers there"):
        flower_run(RunSettings.from_flat(config))
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("backend", "address", "message"),
    [
        ("inprocess", "127.0.0.1:6379", "expected federation.backend=ray with it, got inprocess"),
        ("ray", "auto", "expected host:port of a cluster's head"),
        ("ray", "ray://head:10001", "expected host:port of a cluster's head"),
        ("ray", "head:70000", "expected host:port of a cluster's head"),
    ],
)
def test_an_address_that_can_be_none_is_refused(run_config, backend, address, message):
    config = run_config(federation__backend=backend) | {"federation.ray.address": address}
    with pytest.raises(SettingsError, match=message):
        RunSettings.from_flat(config)
