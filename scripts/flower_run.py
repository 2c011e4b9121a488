"""`flwr run` with its traps closed: a SuperLink of our own, watched, ended, and its truth told.

Flower's own local SuperLink is left running, installs the app's dependencies on each run, may load
client code from its working directory, and `flwr run` exits with 0 when the run failed. Here the
SuperLink is a child process in an empty directory with a FLWR_HOME and ports of its own; the run's
state is read from Flower and from the run folder; everything is stopped afterwards.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import FederationError
from fglguard.settings import RunSettings, Scalar, values_of

ROOT = Path(__file__).resolve().parent.parent
APP_PARTS = ("client", "server", "strategies", "privacy", "fglguard")
BIN = Path(sys.executable).parent

START_SECONDS = 60.0
COMMAND_SECONDS = 120.0
STOP_SECONDS = 15.0
POLL_SECONDS = 0.5
LOOK_SECONDS = 15.0


@dataclass(frozen=True)
class SuperLink:
    """A running SuperLink of our own.

    Attributes:
        process: Its process, the leader of a session that holds all it starts.
        environment: For `flwr` commands that talk to it.
        log: Its log file.
    """

    process: "subprocess.Popen[bytes]"
    environment: Mapping[str, str]
    log: Path


def flower_run(settings: RunSettings) -> None:
    """Run the app on Ray through `flwr run` and wait for its end.

    Raises:
        FederationError: The run failed; the text holds the reason, a client's traceback included.
    """
    with superlink(settings.federation.workers) as link:
        run_id = _submit(link, settings)
        _wait(link, run_id, settings)


@contextlib.contextmanager
def superlink(workers: int) -> Iterator[SuperLink]:
    """Start a SuperLink in simulation mode, and end it with all its children."""
    home = Path(tempfile.mkdtemp(prefix="fglguard-flower-"))
    process = None
    try:
        empty = home / "empty"
        empty.mkdir()
        port = _free_port()
        environment = _environment(home, workers)
        (home / "config.toml").write_text(
            '[superlink]\ndefault = "own"\n\n[superlink.own]\n'
            f'address = "127.0.0.1:{port}"\ninsecure = true\n',
            encoding="utf-8",
        )
        log = home / "superlink.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    str(BIN / "flower-superlink"),
                    "--insecure",
                    "--simulation",
                    "--isolation",
                    "subprocess",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                    "--disable-runtime-dependency-installation",
                ],
                cwd=empty,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        link = SuperLink(process, environment, log)
        _wait_until_up(link, port)
        yield link
    finally:
        if process is not None:
            _end(process)
        shutil.rmtree(home, ignore_errors=True)


def _environment(home: Path, workers: int) -> dict[str, str]:
    own = {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_TMPDIR": str(home / "ray"),
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    return {**os.environ, **own}


def _submit(link: SuperLink, settings: RunSettings) -> int:
    federation = settings.federation
    overrides = link.log.with_name("run-config.toml")
    overrides.write_text(_toml(values_of(settings)), encoding="utf-8")
    simulation = (
        f"num-supernodes={federation.clients} client-resources-num-cpus=1 "
        f"init-args-num-cpus={federation.workers}"
    )
    answer = _flwr(
        link,
        "run",
        str(_staged_app(link.log.with_name("app"))),
        "--run-config",
        str(overrides),
        "--federation-config",
        simulation,
        "--format",
        "json",
    )
    if not answer.get("success") or "run-id" not in answer:
        reason = answer.get("error-message", answer)
        raise FederationError(f"flwr run was refused: {reason}\n{_tail(link.log)}")
    return int(answer["run-id"])


def _staged_app(folder: Path) -> Path:
    """A copy of what the app needs: Flower looks at every file below the app, a venv's too."""
    for part in APP_PARTS:
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def _wait(link: SuperLink, run_id: int, settings: RunSettings) -> None:
    # The server bounds each phase itself; this bounds a run that Flower never starts or ends.
    federation = settings.federation
    phases = 2 * federation.clients if settings.strategy.name == "local" else 0
    phases += federation.rounds * (1 + federation.retries) + 3
    limit = COMMAND_SECONDS + federation.connect_timeout + phases * federation.timeout
    deadline = time.monotonic() + limit
    next_look = 0.0
    while True:
        if time.monotonic() > deadline:
            raise FederationError(f"the run did not end within {limit:.0f} s\n{_tail(link.log)}")
        if link.process.poll() is not None:
            raise FederationError(
                f"the SuperLink ended with code {link.process.returncode}\n{_tail(link.log)}"
            )
        # Asking Flower starts a process that takes seconds of CPU, which clients could use.
        if _ended(settings) or time.monotonic() > next_look:
            state = _state(link, run_id)
            if state.startswith("finished"):
                break
            next_look = time.monotonic() + LOOK_SECONDS
        time.sleep(POLL_SECONDS)
    log = Path(settings.output) / "flower.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(link.log, log)
    if state != "finished:completed":
        raise FederationError(_why(settings, state, log))


def _ended(settings: RunSettings) -> bool:
    """Whether the run's own folder says that it is over; Flower's word follows within seconds."""
    with contextlib.suppress(OSError, ValueError):
        status = json.loads((Path(settings.output) / "status.json").read_text(encoding="utf-8"))
        return status["state"] != "running"
    return False


def _why(settings: RunSettings, state: str, log: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        status = json.loads((Path(settings.output) / "status.json").read_text(encoding="utf-8"))
        if "error" in status:
            return f"the run failed: {status['error']}"
    return f"the run ended as {state}; the end of {log}:\n{_tail(log)}"


def _state(link: SuperLink, run_id: int) -> str:
    answer = _flwr(link, "ls", "--run-id", str(run_id), "--format", "json")
    runs = answer.get("runs") or [{}]
    return str(runs[0].get("status", ""))


def _flwr(link: SuperLink, *arguments: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [str(BIN / "flwr"), *arguments],
            cwd=link.log.parent / "empty",
            env=dict(link.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FederationError(
            f"flwr {arguments[0]} did not answer within {COMMAND_SECONDS:g} s\n{_tail(link.log)}"
        ) from None
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        raise FederationError(
            f"flwr {arguments[0]} did not answer as expected (exit code {done.returncode}):\n"
            f"{done.stdout}{done.stderr}"
        ) from None


def _wait_until_up(link: SuperLink, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if link.process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)
    raise FederationError(
        f"the SuperLink did not start within {START_SECONDS:g} s\n{_tail(link.log)}"
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    for sign, patience in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _toml(values: Mapping[str, Scalar]) -> str:
    # A JSON scalar is a TOML scalar.
    return "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in values.items())


def _tail(log: Path, lines: int = 40) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
