"""Where the installed programs are: `$FGLGUARD_BIN`, else beside this Python, else PATH."""

import os
import shutil
import sys
from pathlib import Path

from fglguard.errors import FederationError


def program(name: str) -> str:
    """The path of an installed program.

    Raises:
        FederationError: It is nowhere.
    """
    chosen = os.environ.get("FGLGUARD_BIN")
    folders = [chosen] if chosen else [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        where = chosen or "the folder of this Python or PATH"
        raise FederationError(
            f"{name}: not found in {where}; install the project there, or set FGLGUARD_BIN to the "
            f"folder of the programs"
        )
    return found
