"""docs/deploy.md, typed literally into one shell; only the ports are free ones of this machine."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.provisioning.conftest import free_ports

pytestmark = pytest.mark.sites

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 600


def blocks():
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    return re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_commands_lead_to_sites_that_are_online(tmp_path):
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    script = "set -eu\n" + "\n".join(blocks())
    numbers = sorted(set(re.findall(r"\b18\d{3}\b", script)))
    for number, port in zip(numbers, free_ports(len(numbers)), strict=True):
        script = re.sub(rf"\b{number}\b", f"port-{port}", script)
    script = script.replace("port-", "")
    process = subprocess.Popen(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, said
    assert said.count("nothing wrong") == 4
    assert said.count("online") >= 3
    record = json.loads((tmp_path / ".fglguard/deploy/kits/host/roster.json").read_text())
    assert [entry["site"] for entry in record["sites"]] == ["north", "south", "east"]
    assert all("node" in entry for entry in record["sites"] + record["revoked"])
    assert {entry["site"] for entry in record["revoked"]} == {"west", "south"}
