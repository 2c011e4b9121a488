"""The verdict log: JSON Lines, in files of bounded size, readable by their owner only."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fglguard.errors import OutputError
from fglguard.events import Event
from fglguard.verdict import Verdict

log = logging.getLogger(__name__)


def entry(
    verdict: Verdict, event: Event | None, allowed_by: str | None, text: bool
) -> dict[str, Any]:
    """What the log keeps of a verdict.

    Args:
        verdict: The verdict.
        event: What it is on; None for a whole stored episode.
        allowed_by: The allow-list's entry that let it pass.
        text: Whether what was said may stand in the log: the event's text, and taints.
    """
    record = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **verdict.to_record()}
    record["allowed_by"] = allowed_by
    if event is not None:
        record |= {"event_id": event.id, "tool": event.tool}
    if not text:
        del record["taints"]
    elif event is not None:
        record["text"] = event.text
    return record


class VerdictLog:
    """Appends records to a file; safe to share among threads, but not among processes.

    A record is in the file whole or not at all, also where a disk was full for a while.

    Attributes:
        failing: Why the last record could not be written; None where it was.
        lost: How many records could not be written.

    Args:
        path: The file; `path.1` is the one before it, and so on.
        most_bytes: Before a record would make it larger than this, a new file is begun.
        files: Old files that are kept.

    Raises:
        OutputError: The file can't be opened for writing.
    """

    def __init__(self, path: Path, most_bytes: int, files: int) -> None:
        self.failing: str | None = None
        self.lost = 0
        self._path = path
        self._most = most_bytes
        self._files = files
        self._lock = threading.Lock()
        # Another one, as a write that does not end holds the first.
        self._counting = threading.Lock()
        self._descriptor: int | None = None
        try:
            self._open()
        except OSError as error:
            raise OutputError(f"--log: {path}: can't be written: {error.strerror}") from error

    def write(self, record: Mapping[str, Any]) -> bool:
        """Append a record; returns whether it is in the file."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self._lock:
            try:
                self._append(line)
            except OSError as error:
                self.missed(error.strerror or type(error).__name__)
                return False
            if self.failing is not None:
                log.warning("verdict log %s: written again; %d lost", self._path, self.lost)
                self.failing = None
            return True

    def missed(self, why: str) -> None:
        """Count a record that is not in the file, and say so where it is the first."""
        with self._counting:
            self.lost += 1
            first, self.failing = self.failing is None, why
        if first:
            log.error("verdict log %s: can't be written: %s", self._path, why)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _append(self, line: bytes) -> None:
        descriptor = self._descriptor if self._descriptor is not None else self._open()
        size = os.fstat(descriptor).st_size
        if size and size + len(line) > self._most:
            self._rotate()
            descriptor, size = self._open(), 0
        try:
            written = os.write(descriptor, line)
            if written < len(line):
                os.write(descriptor, line[written:])  # Says why the rest does not fit.
            if os.fstat(descriptor).st_size != size + len(line):
                raise OSError(errno.ENOSPC, "only a part of a record fits")
        except OSError:
            # Half a record would spoil the next one too.
            os.ftruncate(descriptor, size)
            raise

    def _open(self) -> int:
        # Without O_NONBLOCK a pipe that nobody reads would hold up the start for ever.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "expected a regular file")
        self._descriptor = descriptor
        os.fchmod(descriptor, 0o600)
        return descriptor

    def _rotate(self) -> None:
        self._close()
        names = [self._path, *(self._old(number) for number in range(1, self._files + 1))]
        if len(names) == 1:
            self._path.unlink(missing_ok=True)
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)

    def _old(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
