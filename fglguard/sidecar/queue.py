"""How much is taken at one time; what was taken is finished before a stop."""

from __future__ import annotations

from collections.abc import Callable


class Queue:
    """Counts requests that are worked at or wait. For one event loop's thread.

    Attributes:
        depth: How many there are.
        closed: Whether new ones are refused, as the sidecar stops.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.depth = 0
        self.closed = False

    def enter(self) -> Callable[[], None] | None:
        """Take one in; returns what to call once it is done, None where there is no room."""
        if self.depth >= self._most:
            return None
        self.depth += 1
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self.depth -= 1

        return leave

    def close(self) -> None:
        """Refuse what comes from now on."""
        self.closed = True
