"""Counts of the latest scores, in bins."""

from collections import deque


class Window:
    """Bins of the last `size` scores.

    Args:
        bins: How many bins.
        size: How many scores are kept.
    """

    def __init__(self, bins: int, size: int) -> None:
        self._codes: deque[int] = deque()
        self._counts = [0] * bins
        self.size = size

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def counts(self) -> tuple[int, ...]:
        """[bins]."""
        return tuple(self._counts)

    def add(self, code: int) -> None:
        """Take one more score, and let the oldest go where the window is full; O(1)."""
        if len(self._codes) == self.size:
            self._counts[self._codes.popleft()] -= 1
        self._codes.append(code)
        self._counts[code] += 1
