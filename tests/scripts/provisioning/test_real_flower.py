"""The kits' own start scripts start Flower's real programs, on loopback with TLS and keys."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.provisioning.checking import check_kit
from scripts.provisioning.checks.reach import check_reach
from scripts.provisioning.kit_record import read_kit_record
from scripts.provisioning.registration import register
from tests.scripts.provisioning.conftest import free_ports

pytestmark = pytest.mark.sites

BIN = Path(sys.executable).parent
SECONDS = 90


@pytest.fixture
def start(tmp_path):
    """Start a kit's script in a session of its own; all of them are ended afterwards."""
    processes = []

    def begin(kit):
        log = tmp_path / f"{kit.name}-{len(processes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(kit / "start.sh")],
                cwd="/",
                env={**os.environ, "FGLGUARD_BIN": str(BIN)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        processes.append(process)
        return process, log

    yield begin
    for process in processes:
        end(process)


def end(process):
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(20)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def until(what, log, process):
    """Wait until something holds; fails with the log once the process or the time is over."""
    deadline = time.monotonic() + SECONDS
    while not (answer := what()):
        if time.monotonic() > deadline or process.poll() is not None:
            raise AssertionError(log.read_text(errors="replace"))
        time.sleep(0.5)
    return answer


def nodes(kit):
    """Status of each node by its id."""
    done = subprocess.run(
        [str(BIN / "flwr"), "supernode", "list", "--format", "json"],
        cwd=kit,
        env={**os.environ, "FLWR_HOME": str(kit), "FLWR_TELEMETRY_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return {int(node["node-id"]): node["status"] for node in json.loads(done.stdout)["nodes"]}


def bound(kit):
    record = json.loads((kit / "roster.json").read_text())
    return {entry["site"]: entry["node"] for entry in record["sites"]}


def test_a_consortium_comes_up_from_its_kits_and_a_revoked_site_stays_out(
    kits, make_silo, start, tmp_path
):
    make_silo(domains=("a",), name="north silo")
    port, *others = free_ports(6)
    kits.values["host"].update(port=port, health_port=others[0], state="the host's $state")
    kits.values["sites"][0].update(port=others[1], health_port=others[2], state='no}rth "x"')
    kits.values["sites"][1].update(port=others[3], health_port=others[4])
    kits.make()
    host, north = kits / "host", kits / "north"
    assert check_kit(host) == []

    superlink, log = start(host)
    record = read_kit_record(north)
    until(lambda: not list(check_reach(north, record)), log, superlink)
    assert check_kit(north) == []
    assert [note.split(":")[0] for note in register(host)] == ["north", "south"]
    assert register(host) == []
    node = bound(host)["north"]
    assert nodes(host) == {node: "registered", bound(host)["south"]: "registered"}
    # A roster that was made anew elsewhere finds its node ids again.
    (host / "roster.json").unlink()
    kits.make()
    register(host)
    assert bound(host)["north"] == node

    process, site_log = start(north)
    until(lambda: f"SuperNode ID: {node}" in site_log.read_text(), site_log, process)
    assert nodes(host)[node] == "online"
    assert (tmp_path / 'no}rth "x"' / "empty").is_dir()

    # A new key for north: the other site stays as it was, the old key is of no use any more.
    end(process)
    old = (north / "site.key").read_bytes()
    south = bound(host)["south"]
    kits.make("north")
    register(host)
    assert bound(host) == {"north": bound(host)["north"], "south": south}
    assert bound(host)["north"] != node
    assert nodes(host)[node] == "unregistered"
    (north / "site.key").write_bytes(old)
    process, site_log = start(north)
    process.wait(SECONDS)
    assert "SuperNode ID" not in site_log.read_text()
    assert nodes(host)[bound(host)["north"]] == "registered"
