"""CPU time of a program's parts, by the functions that do them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Place = tuple[Any, str]
"""A module, class or object, and the name of a function that is looked up there."""


class Stopwatch:
    """Adds up CPU seconds spent in functions, part by part.

    Args:
        parts: The functions of each part. None of them may run within another one.
    """

    def __init__(self, parts: Mapping[str, Sequence[Place]]) -> None:
        self._parts = parts
        self.seconds: dict[str, float] = dict.fromkeys(parts, 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While this holds, calls of the functions are timed."""
        found = [(holder, name, getattr(holder, name)) for holder, name in self._places()]
        try:
            for part, places in self._parts.items():
                for holder, name in places:
                    setattr(holder, name, self._timed(getattr(holder, name), part))
            yield
        finally:
            for holder, name, function in found:
                setattr(holder, name, function)

    def read(self) -> dict[str, float]:
        """Seconds of each part since the last reading."""
        seconds, self.seconds = self.seconds, dict.fromkeys(self._parts, 0.0)
        return seconds

    def _places(self) -> Iterator[Place]:
        for places in self._parts.values():
            yield from places

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[part] += time.process_time() - began

        return timed
