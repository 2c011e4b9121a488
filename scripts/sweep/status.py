"""How a point stands, read from and written to its folder."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fglguard.files import write_atomically

State = Literal["completed", "skipped", "failed", "interrupted", "not run"]


@dataclass(frozen=True)
class Outcome:
    """What became of a point.

    Attributes:
        state: `skipped`: was completed before. `interrupted`: was running at Ctrl-C.
        folder: Its run folder; None where it never got one.
        reason: Why it failed.
        auroc: Mean over domains of the raw AUROC on the test split; None where undefined.
        seconds: How long the run took.
    """

    state: State
    folder: Path | None = None
    reason: str | None = None
    auroc: float | None = None
    seconds: float | None = None


def is_completed(folder: Path) -> bool:
    """Whether a completed run stands there."""
    return _read(folder / "status.json").get("state") == "completed"


def completed(folder: Path, state: State) -> Outcome:
    """The outcome of a completed run, with its figures."""
    results = _read(folder / "results.json")
    auroc = results.get("test", {}).get("mean_auroc_raw")
    return Outcome(state, folder, None, auroc, results.get("seconds", {}).get("total"))


def mark_failed(folder: Path, reason: str) -> None:
    """Say in the folder's `status.json` that the run failed, unless the run itself has said so."""
    if _read(folder / "status.json").get("state") == "failed":
        return
    record = {"state": "failed", "pid": os.getpid(), "error": reason}
    with write_atomically(folder / "status.json") as file:
        file.write(json.dumps(record, indent=2).encode() + b"\n")


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where it is missing or damaged, as after a crash."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
