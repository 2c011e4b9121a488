"""Private files: there, and readable by their owner alone."""

import os
import shlex
import stat
from pathlib import Path

from scripts.provisioning.checks.finding import Finding, Findings


def check_private(path: Path, missing: str) -> Findings:
    """One private file.

    Args:
        path: The file.
        missing: What to do where it is not there.
    """
    try:
        status = path.stat()
    except OSError as error:
        yield Finding(f"{path}: {error.strerror}", missing)
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        yield Finding(
            f"{path} can be read by others (mode {mode:04o})", f"chmod 600 {shlex.quote(str(path))}"
        )
    if not os.access(path, os.R_OK):
        yield Finding(
            f"{path} can't be read by this user (owner {status.st_uid}, here {os.geteuid()})",
            "run as its owner, or chown it",
        )
