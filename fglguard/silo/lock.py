"""One writer at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fglguard.errors import SiloError

LOCK_FILE = ".lock"
_POLL_SECONDS = 0.05


@contextmanager
def writing(folder: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the silo's write lock; readers never need it.

    The operating system drops the lock when its holder ends, however it ends, so a crash leaves
    nothing to clean up.

    Raises:
        SiloError: Another process still holds the lock after `wait_seconds`.
    """
    deadline = time.monotonic() + wait_seconds
    descriptor = _open(folder)
    try:
        while not _acquired(descriptor, folder):
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace") or "unknown"
                raise SiloError(
                    f"{folder}: another process (pid {holder}) is writing to this silo; "
                    f"gave up after {wait_seconds:g} s"
                )
            time.sleep(_POLL_SECONDS)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(folder: Path) -> int:
    try:
        return os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise SiloError(f"{folder}: can't be written to: {error.strerror}") from error


def _acquired(descriptor: int, folder: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # An import that failed takes its new folder away, lock file and all: a lock on a file that
    # is gone guards nothing.
    if os.fstat(descriptor).st_nlink == 0:
        raise SiloError(f"{folder}: was removed by another process; try again")
    return True
