"""How long a whole run takes and how much memory it holds at its peak."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.benchmarks.process_tree import peak_memory

SIMULATE = Path(__file__).resolve().parent.parent / "simulate.py"
LIMIT_SECONDS = 1800


def run() -> dict[str, float]:
    """Wall time and peak memory (sum of proportional set sizes) of `make run`'s command."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                str(SIMULATE),
                "federation.backend=ray",
                f"output={folder}/run",
            ]
        )
        try:
            with peak_memory(process.pid) as peak:
                code = process.wait(LIMIT_SECONDS)
        finally:
            process.kill()
        wall = time.perf_counter() - began
    if code:
        raise SystemExit(f"the run failed with exit code {code}")
    return {"run.wall_s": wall, "run.peak_mb": peak.mb}
