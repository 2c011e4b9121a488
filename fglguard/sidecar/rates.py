"""How many requests a second each key may send: a token bucket a key."""

from __future__ import annotations

import time
from collections.abc import Callable


class Rates:
    """Token buckets: each holds a second's worth of requests and refills at the rate.

    Args:
        rate: Requests a second; 0: any number.
        clock: Seconds that never run backwards.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = max(1.0, rate)
        self._clock = clock
        self._buckets: dict[int, tuple[float, float]] = {}

    def wait(self, key: int) -> float:
        """Count one request of a key.

        Returns:
            0 where it may go on; else it is not counted, and this is after how many seconds one
            may come.
        """
        if not self._rate:
            return 0.0
        now = self._clock()
        level, since = self._buckets.get(key, (self._most, now))
        level = min(self._most, level + (now - since) * self._rate)
        if level < 1:
            self._buckets[key] = (level, now)
            return (1 - level) / self._rate
        self._buckets[key] = (level - 1, now)
        return 0.0
