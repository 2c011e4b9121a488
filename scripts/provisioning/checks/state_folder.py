"""The folder for what is kept: it is there or can be made, and can be written to."""

import os
from pathlib import Path

from scripts.provisioning.checks.finding import Finding, Findings


def check_writable(folder: Path) -> Findings:
    """One folder that start.sh makes, or a file's folder."""
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        yield Finding(f"{folder} can't be made: {nearest} is no folder", "name another folder")
    elif not os.access(nearest, os.W_OK | os.X_OK):
        yield Finding(
            f"{folder} can't be written to by this user: {nearest} is closed to it",
            "make it and give it to this user (chown), or set FGLGUARD_STATE for start.sh",
        )
