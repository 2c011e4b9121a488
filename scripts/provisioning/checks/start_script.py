"""`start.sh`: there, and it may be executed."""

import os
import shlex
from pathlib import Path

from scripts.provisioning.checks.finding import Finding, Findings
from scripts.provisioning.layout import START


def check_start(kit: Path) -> Findings:
    """A kit's start script."""
    path = kit / START
    if not path.is_file():
        yield Finding(f"{path} is missing", "get the kit anew from where it was made")
    elif not os.access(path, os.X_OK):
        yield Finding(f"{path} may not be executed", f"chmod 755 {shlex.quote(str(path))}")
