"""Worker processes that outlive each other: one that dies costs its point and nothing else."""

import contextlib
import json
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from fglguard.settings import Scalar
from scripts.sweep.worker import CLEANUP_SECONDS, serve

Task = Mapping[str, Scalar]
"""A run's flat settings."""

POLL_SECONDS = 0.25
EXIT_SECONDS = 10.0
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Pool:
    """At most so many processes at a time, each kept for further tasks while it lives.

    The standard library's pools break as a whole, or wait for ever, when a worker is killed.

    Args:
        workers: Processes at a time.
        limit: Seconds that a task may take.
    """

    def __init__(self, workers: int, limit: float) -> None:
        self.workers = workers
        self.limit = limit
        self._alive: list[_Worker] = []

    def run(
        self, tasks: Sequence[Task], tick: Callable[[Sequence[int]], None]
    ) -> Iterator[tuple[int, str | None]]:
        """Run all tasks; yields each one's number as it ends, and why it failed or None.

        Args:
            tasks: Settings of runs whose folders exist or can be made.
            tick: Called a few times a second with the numbers of the tasks that are running.
        """
        waiting = deque(enumerate(tasks))
        while waiting or any(worker.task is not None for worker in self._alive):
            self._give(waiting)
            busy = [worker for worker in self._alive if worker.task is not None]
            tick([worker.task for worker in busy if worker.task is not None])
            wait([handle for worker in busy for handle in worker.handles], POLL_SECONDS)
            for worker in busy:
                number, ended, error = worker.task, *worker.outcome(self.limit)
                if ended and number is not None:
                    worker.task = None
                    yield number, error

    def stop(self) -> None:
        """End every worker: ask, wait for what it has to clean up, then insist."""
        for worker in self._alive:
            worker.interrupt()
        deadline = time.monotonic() + CLEANUP_SECONDS
        for worker in self._alive:
            worker.end(max(0.0, deadline - time.monotonic()))
        self._alive.clear()

    def _give(self, waiting: "deque[tuple[int, Task]]") -> None:
        # One that died at its task stays until that has been told.
        self._alive = [worker for worker in self._alive if worker.usable or worker.task is not None]
        while waiting:
            free = [worker for worker in self._alive if worker.task is None]
            if not free and len(self._alive) >= self.workers:
                return
            if not free:
                free = [_Worker()]
                self._alive += free
            free[0].begin(*waiting.popleft())


class _Worker:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        # Not a daemon: those may not have children, which some backends need.
        self.process: SpawnProcess = context.Process(target=serve, args=(theirs,))
        with _one_thread():
            self.process.start()
        theirs.close()
        self.task: int | None = None
        self._began = 0.0
        self._ended = False

    @property
    def handles(self) -> list[Connection | int]:
        return [self.connection, self.process.sentinel]

    @property
    def usable(self) -> bool:
        return not self._ended and self.process.is_alive()

    def begin(self, number: int, task: Task) -> None:
        self.task, self._began = number, time.monotonic()
        # A worker that died while idle: its end is noticed as that of this task.
        with contextlib.suppress(BrokenPipeError):
            self.connection.send_bytes(json.dumps(dict(task)).encode())

    def outcome(self, limit: float) -> tuple[bool, str | None]:
        """Whether the task has ended, and why it failed."""
        try:
            if self.connection.poll():
                answer: dict[str, Any] = json.loads(self.connection.recv_bytes())
                return True, answer["error"]
        except (EOFError, ConnectionResetError):
            self.end(EXIT_SECONDS)
            return True, _death(self.process.exitcode)
        if not self.process.is_alive():
            self.end(EXIT_SECONDS)
            return True, _death(self.process.exitcode)
        if time.monotonic() - self._began > limit:
            self.interrupt()
            self.end(CLEANUP_SECONDS)
            return True, f"stopped: it did not end within {limit:g} s (hydra.launcher.limit)"
        return False, None

    def interrupt(self) -> None:
        if self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGINT)

    def end(self, patience: float) -> None:
        """Wait for the process, which has been told to end; kill it where it does not."""
        self._ended = True
        self.connection.close()
        self.process.join(patience)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(EXIT_SECONDS)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    # Numerical libraries read these when they load, which is before a worker's first own line.
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _death(code: int | None) -> str:
    if code is None:
        return "its process could not be ended"
    if code >= 0:
        return f"its process ended by itself with code {code}"
    name = signal.Signals(-code).name
    if -code == signal.SIGKILL:
        return (
            f"its process was killed ({name}), as the system does when memory runs out; fewer "
            "points at a time: hydra.launcher.workers=1"
        )
    return f"its process was ended by a signal ({name})"
