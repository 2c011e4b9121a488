"""A check that may be given up: what it does after that must not count."""

import threading

from fglguard.errors import TimeLimitError


class Attempt:
    """Either its work is committed or it is given up, never both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = False

    def begin(self) -> None:
        """Raise TimeLimitError where it was given up before it began."""
        with self._lock:
            if self._ended:
                raise TimeLimitError("the check was given up before it began")

    def commit(self) -> None:
        """Make the work count.

        Raises:
            TimeLimitError: It was given up.
        """
        if not self._end():
            raise TimeLimitError("the check was given up: it took longer than it may")

    def give_up(self) -> bool:
        """Returns whether it could be; False: the work counts, and its result is on its way."""
        return self._end()

    def _end(self) -> bool:
        with self._lock:
            first, self._ended = not self._ended, True
            return first
