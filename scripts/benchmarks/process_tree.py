"""CPU seconds and memory of a process and all its descendants."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

SAMPLE_SECONDS = 0.25


def cpu_seconds(pid: int | None = None) -> float:
    """User and system seconds of the process and its living descendants, and of those it reaped."""
    total = 0.0
    for process in _tree(pid):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue  # it ended between the listing and the look
        total += times.user + times.system + times.children_user + times.children_system
    return total


@dataclass
class Peak:
    """The largest sum of proportional set sizes seen, in MB of 2^20 bytes."""

    mb: float = 0.0


@contextmanager
def peak_memory(pid: int | None = None) -> Iterator[Peak]:
    """Watch the process tree's memory while the body runs."""
    peak, done = Peak(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(pid, peak, done), daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join(10.0)


def _watch(pid: int | None, peak: Peak, done: threading.Event) -> None:
    while not done.wait(SAMPLE_SECONDS):
        total = 0
        for process in _tree(pid):
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue
        peak.mb = max(peak.mb, total / 2**20)


def _tree(pid: int | None) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []
