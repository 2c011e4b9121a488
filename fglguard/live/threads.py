"""Threads that checks run on, and how many may wait for one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fglguard.errors import TimeLimitError
from fglguard.live.attempt import Attempt
from fglguard.live.limits import Limits

T = TypeVar("T")


class CheckThreads:
    """Runs checks, and what is observed, beside the caller.

    Args:
        limits: `checks` run at a time, `waiting` wait; what comes beyond that is refused at once,
            so that threads that hang do not fill the memory with what waits for them.
    """

    def __init__(self, limits: Limits) -> None:
        self._most = limits.waiting
        self._room = threading.BoundedSemaphore(limits.waiting)
        self._pool = ThreadPoolExecutor(limits.checks, "fglguard")

    def check(self, work: Callable[[], T], attempt: Attempt) -> Future[T]:
        """Let a check run, unless its attempt is given up before its turn comes.

        Raises:
            TimeLimitError: Too much waits.
            RuntimeError: The threads have ended.
        """
        if not self._room.acquire(blocking=False):
            raise TimeLimitError(f"{self._most} checks wait for a thread already")
        try:
            return self._pool.submit(self._run, work, attempt)
        except RuntimeError:
            self._room.release()
            raise

    def observe(self, work: Callable[[], T]) -> Future[T]:
        """Let work run that must not be turned away: what was said was said.

        Raises:
            RuntimeError: The threads have ended.
        """
        return self._pool.submit(work)

    def _run(self, work: Callable[[], T], attempt: Attempt) -> T:
        self._room.release()
        attempt.begin()
        return work()

    def shutdown(self) -> None:
        """Finish what runs, and end."""
        self._pool.shutdown()
