"""`flwr run` of a simulation: a SuperLink of our own, watched, ended, and its truth told.

Flower's own local SuperLink is left running, installs the app's dependencies on each run, may load
client code from its working directory, and `flwr run` exits with 0 when the run failed. Here the
SuperLink is a child process in an empty directory with a FLWR_HOME and ports of its own; the run's
state is read from Flower and from the run folder; everything is stopped afterwards. A Ray cluster
that runs already is used and left as it is.
"""

import contextlib
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fglguard.errors import FederationError
from fglguard.settings import RunSettings
from scripts.flower.commands import Flower, FlowerError
from scripts.flower.processes import (
    end,
    environment,
    free_port,
    last_lines,
    start,
    wait_until_up,
)
from scripts.flower.waiting import require_completed, wait_for_end

REACH_SECONDS = 10.0


@dataclass(frozen=True)
class SuperLink:
    """A running SuperLink of our own.

    Attributes:
        process: Its process, the leader of a session that holds all it starts.
        flower: `flwr` that talks to it.
        log: Its log file.
    """

    process: "subprocess.Popen[bytes]"
    flower: Flower
    log: Path

    def require_running(self) -> None:
        """Raise a FlowerError if it has ended."""
        if self.process.poll() is not None:
            raise FlowerError(f"the SuperLink ended with code {self.process.returncode}")


def flower_run(settings: RunSettings) -> None:
    """Run the app on Ray through `flwr run` and wait for its end.

    Raises:
        FederationError: The run failed; the text holds the reason, a client's traceback included;
            or no Ray cluster answers at `federation.ray.address`.
    """
    federation = settings.federation
    simulation = f"num-supernodes={federation.clients} client-resources-num-cpus=1"
    if not federation.ray.address:
        simulation += f" init-args-num-cpus={federation.workers}"
    with superlink(federation.ray.address, Path(settings.output).parent) as link:
        try:
            run_id = link.flower.submit(settings, "--federation-config", simulation)
            state = wait_for_end(link.flower, run_id, settings, link.require_running)
        except FlowerError as error:
            raise FederationError(f"{error}\n{last_lines(link.log)}") from error
        log = Path(settings.output) / "flower.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(link.log, log)
        require_completed(settings, state, f"the end of {log}:\n{last_lines(log)}")


@contextlib.contextmanager
def superlink(cluster: str, beside: Path) -> Iterator[SuperLink]:
    """Start a SuperLink in simulation mode, and end it with all its children.

    Args:
        cluster: `host:port` of a Ray cluster that runs; empty: Ray is started with it.
        beside: The folder that a cluster's nodes find the app's code in, as they do the run's.

    Raises:
        FederationError: No cluster answers there, or the SuperLink does not start.
    """
    if cluster:
        _require_reachable(cluster)
        beside.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=".fglguard-flower-", dir=beside if cluster else None))
    process = None
    try:
        empty = home / "empty"
        empty.mkdir()
        port = free_port()
        ray = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            **({"RAY_ADDRESS": cluster} if cluster else {"RAY_TMPDIR": str(home / "ray")}),
        }
        variables = {**environment(home), **ray}
        (home / "config.toml").write_text(
            '[superlink]\ndefault = "own"\n\n[superlink.own]\n'
            f'address = "127.0.0.1:{port}"\ninsecure = true\n',
            encoding="utf-8",
        )
        log = home / "superlink.log"
        command = [
            *("flower-superlink", "--insecure", "--simulation", "--isolation", "subprocess"),
            *("--host", "127.0.0.1", "--port", str(port)),
            "--disable-runtime-dependency-installation",
        ]
        process = start(command, empty, variables, log)
        wait_until_up(process, port, log)
        yield SuperLink(process, Flower(home, variables), log)
    finally:
        if process is not None:
            end(process)
        shutil.rmtree(home, ignore_errors=True)


def _require_reachable(cluster: str) -> None:
    """Ray itself would wait for minutes before it says that nobody is there."""
    host, _, port = cluster.rpartition(":")
    try:
        socket.create_connection((host, int(port)), REACH_SECONDS).close()
    except OSError as error:
        raise FederationError(
            f"federation.ray.address: expected a Ray cluster at {cluster}, nobody answers there "
            f"({error}); start one with `ray start --head`"
        ) from error
