"""The start scripts, run by a shell with stand-ins that tell how they were started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.provisioning.start_scripts import shell_default

TELL = f"""#!{sys.executable}
import json, os, sys
kept = ("FLWR_HOME", "FLWR_TELEMETRY_ENABLED", "OMP_NUM_THREADS", "PATH",
        "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE", "FLWR_SUPEREXEC_TASK_POLL_INTERVAL")
print(json.dumps([sys.argv, os.getcwd(), {{key: os.environ[key] for key in kept}}]))
"""


@pytest.fixture
def programs(tmp_path):
    """A folder with both programs; its name has what shells stumble over."""
    folder = tmp_path / "the pro'grams\" $x"
    folder.mkdir()
    for name in ("flower-superlink", "flower-supernode"):
        (folder / name).write_text(TELL)
        (folder / name).chmod(0o755)
    return folder


def run(script, *arguments, cwd="/", **environment):
    return subprocess.run(
        [str(script), *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def told(script, *arguments, **environment):
    done = run(script, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    argv, cwd, kept = json.loads(done.stdout)
    flags = dict(zip(argv[1::2], argv[2::2], strict=False))
    return argv, flags, Path(cwd), kept


AWKWARD = 'st at\'e "$HOME" `id` }*'


def test_a_sites_script_works_from_anywhere_with_awkward_paths(kits, programs, tmp_path):
    kits.folder = tmp_path / "k its' $(id)"
    kits.values["sites"][0]["state"] = AWKWARD
    kits.make()
    argv, flags, cwd, kept = told(
        kits / "north" / "start.sh", "--isolation", "process", FGLGUARD_BIN=str(programs)
    )
    assert argv[0] == str(programs / "flower-supernode")
    assert flags == {
        "--superlink": "127.0.0.1:18443",
        "--root-certificates": str(kits / "north" / "ca.crt"),
        "--auth-supernode-private-key": str(kits / "north" / "site.key"),
        "--node-config": str(kits / "north" / "site.toml"),
        "--host": "127.0.0.1",
        "--port": "9094",
        "--health-server-address": "127.0.0.1:9191",
        "--isolation": "process",
    }
    assert cwd == tmp_path / AWKWARD / "empty"
    assert kept["FLWR_HOME"] == str(tmp_path / AWKWARD / "flower")
    assert kept["FLWR_TELEMETRY_ENABLED"] == "0" and kept["OMP_NUM_THREADS"] == "1"
    # A process a message: bytecode that is not kept costs each of them seconds.
    assert kept["PYTHONPYCACHEPREFIX"] == str(tmp_path / AWKWARD / "bytecode")
    assert kept["PYTHONDONTWRITEBYTECODE"] == ""
    assert kept["FLWR_SUPEREXEC_TASK_POLL_INTERVAL"] == "0.1"
    # Flower looks for the programs that it starts itself in PATH.
    assert kept["PATH"].startswith(f"{programs}:")


def test_the_hosts_script_finds_the_program_in_path(kits, programs, tmp_path):
    kits.make()
    argv, flags, *_ = told(
        kits / "host" / "start.sh", PATH=f"{programs}:{os.environ['PATH']}", FGLGUARD_BIND="0.0.0.0"
    )
    assert {"--enable-supernode-auth", "--disable-runtime-dependency-installation"} < set(argv)
    assert argv[argv.index("--host") + 1] == "0.0.0.0"
    assert argv[argv.index("--database") + 1] == str(tmp_path / "state" / "host" / "superlink.db")
    assert flags["--ssl-keyfile"] == str(kits / "host" / "server.key")


def test_relative_folders_of_the_environment_count_from_where_one_stands(kits, programs, tmp_path):
    kits.make()
    (kits / "north" / "site.key").rename(tmp_path / "own")
    _, flags, cwd, _ = told(
        kits / "north" / "start.sh",
        cwd=str(tmp_path),
        FGLGUARD_BIN=programs.name,
        FGLGUARD_STATE="else where",
        FGLGUARD_SITE_KEY="own",
    )
    assert cwd == tmp_path / "else where" / "empty"
    assert flags["--auth-supernode-private-key"] == str(tmp_path / "own")


def test_what_is_missing_is_told(kits, programs, tmp_path):
    kits.make()
    script = kits / "north" / "start.sh"
    nowhere = run(script, FGLGUARD_BIN=str(tmp_path), PATH="/usr/bin:/bin")
    assert nowhere.returncode == 127 and "flower-supernode was not found" in nowhere.stderr
    (kits / "north" / "site.key").unlink()
    keyless = run(script, FGLGUARD_BIN=str(programs))
    assert keyless.returncode == 1 and "site.key: the site's private key" in keyless.stderr


@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=40))
def test_every_printable_path_survives_the_shell(text):
    script = f'X=${{NOT_SET:-/{shell_default(text)}}}\nprintf %s "$X"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60, check=True)
    assert done.stdout.decode() == f"/{text}"
