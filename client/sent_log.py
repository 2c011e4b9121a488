"""A site's log of everything that leaves it: written before it leaves, or it stays."""

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flwr.app import Context

from client.identity import name_of
from fglguard.errors import OutputError, SettingsError

SENT_LOG = "sent-log"
"""Key of a SuperNode's node config: the file's path, absolute."""


class SentLog:
    """A file of JSON lines that only its owner can read, one line a reply.

    Args:
        path: The file; its folder must be there.
        site: Who writes it, for messages.
    """

    def __init__(self, path: Path, site: str) -> None:
        self.path = path
        self._site = site

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line and bring it to the disk; a line that does not fit is taken back.

        Raises:
            OutputError: It can't be written.
        """
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        try:
            self._append(line)
        except OSError as error:
            raise OutputError(
                f"{self._site}: its log of what it sends, {self.path}, can't be written "
                f"({error.strerror}), so nothing is sent"
            ) from error

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode):
                os.fchmod(descriptor, 0o600)
            if os.write(descriptor, line) < len(line):
                os.ftruncate(descriptor, found.st_size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sent_log_of(context: Context) -> SentLog | None:
    """The log that a node's config names; None where it names none, as in a simulation.

    Raises:
        SettingsError: The path is not absolute, or the key is misspelt: the owner believes that
            there is a log.
    """
    for key in context.node_config:
        if "sent" in key.lower() and key != SENT_LOG:
            raise SettingsError(f"node config: expected the key {SENT_LOG}, got {key}")
    if SENT_LOG not in context.node_config:
        return None
    path = Path(str(context.node_config[SENT_LOG]))
    if not path.is_absolute():
        raise SettingsError(f"node config: {SENT_LOG}: expected an absolute path, got {path}")
    return SentLog(path, name_of(context))
