"""Flower's long-running processes: started in an empty folder, ended with all they start."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from fglguard.errors import FederationError

BIN = Path(sys.executable).parent

START_SECONDS = 60.0
STOP_SECONDS = 15.0
LINES = 40


def environment(home: Path) -> dict[str, str]:
    """What Flower's processes run with: a FLWR_HOME of their own, no network but the federation's.

    Without these Flower installs the app's dependencies on each run, and reports home. It starts a
    process a message: where Python can't or may not keep bytecode beside the packages, each would
    compile torch anew, six seconds long.
    """
    own = {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPYCACHEPREFIX": str(bytecode_folder()),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONUNBUFFERED": "1",
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    return {**os.environ, **own}


def bytecode_folder() -> Path:
    """Where this user's processes keep bytecode."""
    if chosen := os.environ.get("PYTHONPYCACHEPREFIX"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "fglguard" / "bytecode"


def start(
    command: Sequence[str], folder: Path, variables: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    """Start one of Flower's commands as the leader of a session that holds all it starts.

    Args:
        command: Its name and arguments.
        folder: Where it runs; should be empty, since Flower imports apps from there first.
        variables: Its environment.
        log: Where it writes.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its session: politely first, then for certain."""
    for sign, patience in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def wait_until_up(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until a SuperLink on this machine takes connections.

    Raises:
        FederationError: It ended, or did not start within a minute.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)
    raise FederationError(
        f"the SuperLink did not start within {START_SECONDS:g} s\n{last_lines(log)}"
    )


def free_port() -> int:
    """A port that nothing listens on right now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def last_lines(log: Path) -> str:
    """The end of a log file."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES:])
