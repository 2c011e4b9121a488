"""What goes wrong at three sites with TLS and keys on loopback, and what a run makes of it.

Real processes. Two runs suffer several faults each, at different sites or in different rounds, so
that all of it ends in minutes; the tests then look at one fault each.
"""

import collections
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fglguard.bundle import load_bundle
from fglguard.parameters import flatten
from fglguard.silo import Silo
from tests.sites.deployment import Deployment
from tests.sites.relay import Relay

pytestmark = pytest.mark.sites

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = Path(__file__).resolve().parent / "hostile"
RUN = ("detector=paper", "privacy=none", "corpus.encoder=hashed-words")
PHASE_SECONDS = 60
RUN_SECONDS = 540
RECEIVED = "Receiving: train message"


@pytest.fixture(scope="module")
def relay_of(tmp_path_factory):
    """Makes relays, and closes them."""
    made = []

    def make(port):
        made.append(Relay(port))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory, sites, relay_of):
    """The three sites; c-0 reaches the host over a network that can be cut."""
    made = Deployment(tmp_path_factory.mktemp("faults"))
    made.relay = None
    try:
        made.start_superlink()
        made.relay = relay_of(made.port)
        for site in sites:
            made.register(site.name)
        made.write_roster(sites)
        for site in sites:
            port = made.relay.port if site.name == "c-0" else None
            made.start_site(site.name, site.path, port=port)
            made.wait_for(site.name, "SuperNode ID")
        yield made
    finally:
        made.close()


class Run:
    """A run by the host's own command, in a process of its own; ends within `RUN_SECONDS`."""

    def __init__(self, deployment, folder, *settings):
        self.folder, self._until = folder, time.monotonic() + RUN_SECONDS
        self._process = subprocess.Popen(
            [sys.executable, "scripts/federate.py", str(deployment.host), *settings],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_round(self, number):
        """Wait until a round's checkpoint is there."""
        while not (self.folder / f"checkpoints/round-{number:04d}.safetensors").exists():
            assert self._process.poll() is None and time.monotonic() < self._until
            time.sleep(0.1)

    @property
    def server_process(self):
        return json.loads((self.folder / "status.json").read_text())["pid"]

    def end(self):
        """Wait for the end; returns the exit code, and what was told."""
        try:
            said, told = self._process.communicate(timeout=self._until - time.monotonic())
        finally:
            self._process.kill()
        return self._process.returncode, said + told


class Log:
    """What a run's folder tells of its sites."""

    def __init__(self, folder):
        self._lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]

    def trained(self, number):
        return {one["site"] for one in self._of("train") if one["round"] == number}

    def failures(self, site):
        """Reasons by round of training."""
        return {
            one["round"]: one["reason"]
            for one in self._of("failure")
            if one["site"] == site and one["during"] == "train"
        }

    @property
    def counted_twice(self):
        counts = collections.Counter((one["site"], one["round"]) for one in self._of("train"))
        return {key for key, count in counts.items() if count > 1}

    def _of(self, kind):
        return [one for one in self._lines if one["kind"] == kind]


@pytest.fixture(scope="module")
def mishaps(deployment, sites, tmp_path_factory):
    """Four rounds: a slow site, a killed one and a cut network; a stopped one; then all are well.

    Round 1: a-0 is held up for some seconds, b-0 is killed while it trains and started again with
    the same key, c-0's network is cut and mended later. Round 2: a-0 is stopped beyond the bound of
    the round. Rounds 3 and 4: nothing happens.
    """
    folder = tmp_path_factory.mktemp("mishaps") / "run"
    limit = f"federation.timeout={PHASE_SECONDS}"
    few = "federation.minimum_clients=1"
    run = Run(deployment, folder, *RUN, "federation.rounds=4", limit, few, f"output={folder}")
    for name in ("a-0", "b-0", "c-0"):
        deployment.wait_for(name, RECEIVED, seconds=180)
        if name == "a-0":
            deployment.pause("a-0")
        elif name == "b-0":
            deployment.kill("b-0")
        else:
            deployment.relay.cut()
    deployment.start_site("b-0", sites[1].path)
    time.sleep(5)
    deployment.go_on("a-0")
    run.wait_for_round(1)
    deployment.relay.mend()
    deployment.wait_for("a-0", RECEIVED, times=2, seconds=60)
    deployment.pause("a-0")
    run.wait_for_round(2)
    deployment.go_on("a-0")
    code, told = run.end()
    return folder, code, told


def test_the_run_ends_well_within_its_bounds(mishaps):
    """Two rounds of four waited for somebody, each no longer than its bound."""
    folder, code, told = mishaps
    assert code == 0, told
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    seconds = [
        record["duration"]
        for record in map(json.loads, (folder / "metrics.jsonl").open())
        if record["kind"] == "round"
    ]
    assert len(seconds) == 4
    assert max(seconds) < PHASE_SECONDS + 15


def test_a_site_that_is_slow_counts(mishaps):
    assert "a-0" in Log(mishaps[0]).trained(1)


def test_a_site_that_is_killed_in_mid_round_is_left_out_and_comes_back(mishaps, deployment):
    """The same key is the same node, so that the restarted site is on the roster."""
    folder, _, told = mishaps
    log = Log(folder)
    assert set(log.failures("b-0")) == {1}
    assert "b-0" in log.trained(2) & log.trained(3) & log.trained(4)
    assert "round 1, train: site b-0 left out: " in told
    assert f"SuperNode ID: {deployment.nodes['b-0']}" in deployment.log("b-0").read_text()


def test_a_site_whose_network_is_cut_is_left_out_and_comes_back(mishaps):
    folder, _, told = mishaps
    log = Log(folder)
    assert 1 in log.failures("c-0")
    assert "c-0" in log.trained(4)
    assert "round 1, train: site c-0 left out: " in told


def test_a_site_that_is_stopped_is_left_out_and_its_late_update_counts_for_nothing(mishaps):
    folder, _, told = mishaps
    log = Log(folder)
    assert log.failures("a-0")[2] == "no reply within the time limit"
    assert "round 2, train: site a-0 left out: no reply within the time limit" in told
    assert "a-0" in log.trained(4)


def test_no_update_counts_twice_and_every_site_has_the_guard(mishaps, deployment, sites):
    folder, _, told = mishaps
    assert Log(folder).counted_twice == set()
    assert "sites that have the guard: a-0, b-0, c-0" in told
    kept = flatten(load_bundle(folder / "guard").detector)
    for site in sites:
        own = load_bundle(deployment.folder / f"guards-{site.name}" / "latest")
        np.testing.assert_array_equal(flatten(own.detector), kept)


@pytest.fixture(scope="module")
def spoiled(mishaps, deployment, sites, make_episode, tmp_path_factory):
    """Three rounds: c-0 sends NaN, b-0's silo changes after round 1, the host's disk fills.

    The disk is full from the end of round 2 on: no file of the server's process may grow beyond a
    hundredth of a checkpoint's size. Then the disk has room again, and the run is resumed.
    """
    folder = tmp_path_factory.mktemp("spoiled") / "run"
    deployment.stop("c-0")
    deployment.start_site("c-0", sites[2].path, code=HOSTILE)
    deployment.wait_for("c-0", "SuperNode ID")
    few = "federation.minimum_clients=1"
    run = Run(deployment, folder, *RUN, "federation.rounds=3", few, f"output={folder}")
    run.wait_for_round(1)
    others = [make_episode(number, "b", unsafe=number % 4 < 2) for number in range(100, 140)]
    silo = Silo.create(sites[1].path, others, overwrite=True)
    silo.prepare(*_preparation())
    run.wait_for_round(2)
    before = (folder / "checkpoints/round-0002.safetensors").read_bytes()
    _, hard = resource.prlimit(run.server_process, resource.RLIMIT_FSIZE)
    resource.prlimit(run.server_process, resource.RLIMIT_FSIZE, (len(before) // 100, hard))
    failed = run.end()
    log = Log(folder)
    status = json.loads((folder / "status.json").read_text())
    kept = (folder / "checkpoints/round-0002.safetensors").read_bytes() == before
    resumed = Run(deployment, folder, f"resume={folder}").end()
    return folder, failed, log, status, kept, resumed


def _preparation():
    from fglguard.encoder import load_encoder
    from fglguard.graph import GraphSettings

    return load_encoder("hashed-words"), GraphSettings()


def test_a_site_that_sends_nan_is_left_out_of_every_round_and_gets_no_guard(spoiled, deployment):
    folder, (_, told), log, _, _, _ = spoiled
    assert set(log.failures("c-0")) == {1, 2, 3}
    assert "round 1, train: site c-0 left out: " in told
    assert np.isfinite(flatten(load_bundle(folder / "guard").detector)).all()
    record = {one["site"]: one for one in json.loads((folder / "delivery.json").read_text())}
    assert record["c-0"]["state"] == "withheld"
    assert not (deployment.folder / "guards-c-0" / folder.name / "guard.json").exists() or (
        (deployment.folder / "guards-c-0" / folder.name / "guard.json").read_bytes()
        != (folder / "guard/guard.json").read_bytes()
    )


def test_a_site_whose_silo_changes_takes_no_further_part(spoiled):
    _, (_, told), log, _, _, _ = spoiled
    assert "b-0" in log.trained(1)
    reasons = log.failures("b-0")
    assert set(reasons) == {2, 3}
    assert all("holds other episodes than when it joined this run" in r for r in reasons.values())
    assert "round 2, train: site b-0 left out: SiloError" in told


def test_a_full_disk_at_the_host_ends_the_run_and_costs_no_round_that_was_kept(spoiled):
    folder, (code, told), _, status, kept, (resumed, resumed_told) = spoiled
    assert code == 2
    assert status["state"] == "failed"
    assert "its checkpoint can't be written to" in status["error"]
    assert "the earlier ones are untouched" in told
    assert f"resume={folder}" in told
    assert kept
    assert resumed == 0, resumed_told
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"


def test_after_the_disk_was_full_no_update_counts_twice(spoiled):
    """Round 3 was done again: the first attempt's lines are gone with its checkpoint."""
    log = Log(spoiled[0])
    assert log.counted_twice == set()
    assert log.trained(3) == {"a-0", "b-0"}
