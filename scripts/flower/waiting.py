"""Waiting for a run's end, within bounds, and what its end really was."""

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from fglguard.errors import FederationError
from fglguard.settings import RunSettings
from scripts.flower.commands import COMMAND_SECONDS, Flower, FlowerError

POLL_SECONDS = 0.5
LOOK_SECONDS = 60.0
ENDED_LOOK_SECONDS = 2.0
SILENT_SECONDS = 60.0
COMPLETED = "finished:completed"


def wait_for_end(
    flower: Flower, run_id: int, settings: RunSettings, watch: Callable[[], None]
) -> str:
    """Wait until Flower says that a run is over; returns its state.

    Args:
        flower: Whom to ask.
        run_id: Which run.
        settings: The run's; they bound each of its phases, and so the wait.
        watch: Called twice a second; may raise to end the wait.

    Raises:
        FlowerError: The run takes longer than its phases may, or the SuperLink says nothing of it
            for a minute.
    """
    limit = _limit(settings)
    began = time.monotonic()
    looked, heard = 0.0, began
    while True:
        watch()
        now = time.monotonic()
        if now > began + limit:
            raise FlowerError(f"the run did not end within {limit:.0f} s")
        # Asking Flower starts a process that takes seconds of CPU, which clients could use.
        if now > looked + (ENDED_LOOK_SECONDS if _ended(settings) else LOOK_SECONDS):
            state = flower.state(run_id)
            if state.startswith("finished"):
                return state
            heard = time.monotonic() if state else heard
            if time.monotonic() > heard + SILENT_SECONDS:
                raise FlowerError(
                    f"the SuperLink has said nothing of the run for {SILENT_SECONDS:g} s"
                )
            looked = time.monotonic()
        time.sleep(POLL_SECONDS)


def require_completed(settings: RunSettings, state: str, log: str) -> None:
    """Tell a run that completed from one that Flower ended otherwise.

    Raises:
        FederationError: It failed; the text is the run folder's reason, or else `log`.
    """
    if state == COMPLETED:
        return
    with contextlib.suppress(OSError, ValueError):
        status = json.loads((Path(settings.output) / "status.json").read_text(encoding="utf-8"))
        if "error" in status:
            raise FederationError(f"the run failed: {status['error']}")
    raise FederationError(f"the run ended as {state}; {log}")


def _limit(settings: RunSettings) -> float:
    """Seconds: the server bounds each phase; this bounds a run that Flower never starts or ends."""
    federation = settings.federation
    phases = 2 * federation.clients if settings.strategy.name == "local" else 0
    # Query, fusion, calibration, test, delivery.
    phases += federation.rounds * (1 + federation.retries) + 5
    return COMMAND_SECONDS + federation.connect_timeout + phases * federation.timeout


def _ended(settings: RunSettings) -> bool:
    """Whether the run's folder says that it is over, or the process that wrote there is gone.

    Flower's word follows within seconds.
    """
    with contextlib.suppress(OSError, ValueError):
        status = json.loads((Path(settings.output) / "status.json").read_text(encoding="utf-8"))
        return bool(status["state"] != "running") or not _is_there(status["pid"])
    return False


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
