"""The app as Flower gets it."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP_PARTS = ("client", "server", "strategies", "privacy", "fglguard")


def staged_app(folder: Path) -> Path:
    """A copy of what the app needs: Flower looks at every file below the app, a venv's too."""
    for part in APP_PARTS:
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, folder / name)
    return folder
