"""One process at a time makes or upgrades a tracking store."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fglguard.errors import SettingsError

_POLL_SECONDS = 0.1


@contextmanager
def alone(store: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the store's lock; the operating system drops it when its holder ends, however it ends.

    Raises:
        SettingsError: Another process still holds the lock after `wait_seconds`.
    """
    deadline = time.monotonic() + wait_seconds
    descriptor = os.open(store / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while not _acquired(descriptor):
            if time.monotonic() >= deadline:
                raise SettingsError(
                    f"tracking.mlflow: {store}: another process has been opening this store for "
                    f"{wait_seconds:g} s; try again"
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _acquired(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
