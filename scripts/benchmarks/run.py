"""How long a whole run takes and how much memory it holds at its peak."""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

SIMULATE = Path(__file__).resolve().parent.parent / "simulate.py"
SAMPLE_SECONDS = 0.5
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
        peak, done = [0.0], threading.Event()
        sampler = threading.Thread(target=_sample, args=(process.pid, peak, done), daemon=True)
        sampler.start()
        try:
            code = process.wait(LIMIT_SECONDS)
        finally:
            done.set()
            process.kill()
        wall = time.perf_counter() - began
    if code:
        raise SystemExit(f"the run failed with exit code {code}")
    return {"run.wall_s": wall, "run.peak_mb": peak[0]}


def _sample(pid: int, peak: list[float], done: threading.Event) -> None:
    while not done.wait(SAMPLE_SECONDS):
        total = 0
        for process in _tree(pid):
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue  # it ended between the listing and the look
        peak[0] = max(peak[0], total / 2**20)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []
