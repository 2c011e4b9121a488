"""Three sites with TLS and keys on loopback: the model, who gets in, what leaves, and resuming.

Real processes: a SuperLink, a SuperNode a site, a process a message.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from client.app import app as client_app
from fglguard.bundle import load_bundle
from fglguard.parameters import flatten
from fglguard.signature import read_public_key
from scripts.consortium import write_roster
from scripts.federate import main as federate
from scripts.generate_flower_config import composed
from server.app import app as server_app
from server.inprocess import simulate
from tests.sites.certificates import write_key_pair
from tests.sites.deployment import Deployment

pytestmark = pytest.mark.sites

RUN = ("detector=paper", "privacy=none", "corpus.encoder=hashed-words")
ROUNDS = 2
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory, sites):
    """The three sites, each with a log, and a stranger with a registered key off the roster."""
    made = Deployment(tmp_path_factory.mktemp("deployment"))
    try:
        made.start_superlink()
        for name in [*(site.name for site in sites), "stranger"]:
            made.register(name)
        made.write_roster(sites)
        for site in sites:
            made.start_site(site.name, site.path)
            made.wait_for(site.name, "SuperNode ID")
        yield made
    finally:
        made.close()


def model(folder):
    return flatten(load_bundle(folder / "guard").detector)


def enrolment(folder):
    record = json.loads((folder / "enrolment.json").read_text())
    return [one["site"] for one in record["present"]], record["left_out"]


def submit(deployment, folder, *more, rounds=ROUNDS):
    return federate(
        [str(deployment.host), *RUN, f"federation.rounds={rounds}", f"output={folder}", *more]
    )


def test_the_model_is_that_of_the_simulation_and_every_byte_is_logged(
    deployment, consortium, sites, tmp_path, capfd
):
    """The same silo, dealt by the same partition and seed, to three clients in this process."""
    deployment.start_site("stranger", sites[0].path, claims=sites[0].name)
    deployment.wait_for("stranger", "SuperNode ID")
    try:
        assert submit(deployment, tmp_path / "sites") == 0
    finally:
        deployment.stop("stranger")
    config = {
        **composed(*RUN, f"corpus.path={consortium.source.path}", "federation.clients=3"),
        "corpus.name": "silos",
        "federation.rounds": ROUNDS,
        "output": str(tmp_path / "simulated"),
    }
    simulate(server_app, client_app, config)
    difference = np.abs(model(tmp_path / "sites") - model(tmp_path / "simulated")).max()
    assert difference <= 1e-6

    present, (stranger,) = enrolment(tmp_path / "sites")
    assert present == ["a-0", "b-0", "c-0"]
    assert (stranger["node"], stranger["site"]) == (deployment.nodes["stranger"], "")
    told = capfd.readouterr().err
    assert f"left out: node {stranger['node']} is connected and not on the roster" in told

    lines = [json.loads(line) for line in (deployment.folder / "a-0.jsonl").open()]
    kinds = ["query", *["train"] * ROUNDS, "evaluate", "evaluate", "query.guard"]
    assert [line["type"] for line in lines] == kinds
    parameters = 4 * len(model(tmp_path / "sites"))
    for line in lines[1 : 1 + ROUNDS]:
        assert parameters < line["bytes"] < 1.05 * parameters
        assert parameters < line["received"] < 1.05 * parameters

    # Every site has the host's guard, byte for byte, and can tell that it is the host's.
    kept = tmp_path / "sites" / "guard"
    for site in sites:
        delivered = deployment.folder / f"guards-{site.name}" / "sites"
        load_bundle(delivered, read_public_key(deployment.host_key))
        for path in kept.iterdir():
            assert (delivered / path.name).read_bytes() == path.read_bytes()


def test_a_site_that_claims_anothers_name_is_refused_and_the_rest_go_on(
    deployment, sites, tmp_path
):
    """Its key is the roster's for c-0, its own word is that it is a-0."""
    deployment.stop("c-0")
    deployment.start_site("c-0", sites[0].path, claims="a-0")
    deployment.wait_for("c-0", "SuperNode ID")
    assert submit(deployment, tmp_path / "run", "federation.minimum_clients=2", rounds=1) == 0
    present, (refused,) = enrolment(tmp_path / "run")
    assert present == ["a-0", "b-0"]
    assert (refused["site"], refused["claimed"]) == ("c-0", "a-0")
    assert refused["node"] == deployment.nodes["c-0"]
    deployment.stop("c-0")
    deployment.start_site("c-0", sites[2].path)
    deployment.wait_for("c-0", "SuperNode ID")


def test_a_key_that_is_not_registered_does_not_connect(deployment, sites):
    unknown = deployment.folder / "unknown"
    write_key_pair(unknown)
    process = deployment.start_site("unknown", sites[0].path, key=unknown)
    assert process.wait(60) != 0
    assert "SuperNode ID" not in deployment.log("unknown").read_text()
    deployment.processes.pop("unknown")


def test_a_superlink_that_is_killed_costs_no_round_that_was_kept(deployment, tmp_path, sites):
    """One command goes on from the checkpoint, to the model of a run that was never stopped."""
    folder = tmp_path / "run"
    command = [sys.executable, "scripts/federate.py", str(deployment.host)]
    settings = [*RUN, "federation.rounds=3", f"output={folder}"]
    options = {"cwd": ROOT, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "text": True}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, *settings], **options, **pipes) as process:
        deadline = time.monotonic() + 240
        while not list(folder.glob("checkpoints/round-0001.safetensors")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        deployment.kill("superlink")
        deployment.start_superlink()
        _, told = process.communicate(timeout=240)
    assert process.returncode == 2
    assert f"resume={folder}" in told
    resumed = subprocess.run(
        [*command, f"resume={folder}"], capture_output=True, timeout=400, **options
    )
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    roster = tmp_path / "roster.json"
    write_roster(roster, sites, capped=True)
    config = json.loads((folder / "config.json").read_text())
    config |= {"federation.roster": str(roster), "output": str(tmp_path / "whole")}
    nodes = [site.node_config for site in sites]
    simulate(server_app, client_app, config, nodes)
    assert np.abs(model(folder) - model(tmp_path / "whole")).max() <= 1e-6
