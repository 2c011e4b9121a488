"""A sweep's worker process: takes points one after another, each into its own folder.

Requests and answers are JSON over a pipe. The process ends with the sweep, however that ends: an
interrupt, the end of the pipe, or the sweep's own death, which a thread watches for.
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from fglguard.errors import FglguardError
from fglguard.settings import RunSettings

LOG = "console.log"
"""What a point printed, in its folder."""
CLEANUP_SECONDS = 40.0
"""How long a run may take to stop what it started; a SuperLink takes the longest."""


def serve(connection: Connection) -> None:
    """Answer each point's settings with `{"error": ...}`: null, or why the run failed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    try:
        while True:
            settings = RunSettings.from_flat(json.loads(connection.recv_bytes()))
            answer = {"error": _run(settings)}
            connection.send_bytes(json.dumps(answer).encode())
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _run(settings: RunSettings) -> str | None:
    with _printing_to(Path(settings.output) / LOG):
        try:
            from scripts.simulation import simulate_run

            simulate_run(settings)
        except FglguardError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - reported by name; the other points go on
            traceback.print_exc()
            return f"{type(error).__name__}: {error}"
    return None


@contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    # The descriptors, not sys.stdout: what a library or a child process prints goes there too.
    log.parent.mkdir(parents=True, exist_ok=True)
    kept = [(number, os.dup(number)) for number in (1, 2)]
    with log.open("ab") as file:
        try:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Once: a second Ctrl-C must not break off the cleaning up.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with_the_sweep() -> None:
    sweep = multiprocessing.parent_process()
    if sweep is None:
        return
    sweep.join()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(CLEANUP_SECONDS)
    os._exit(1)
