"""Running episodes by id: as many as the limits allow, each for one thread at a time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from fglguard.errors import EpisodeError, shown
from fglguard.live.episode import LiveEpisode
from fglguard.live.limits import Limits

Begins = Literal["never", "once", "anew"]
"""Whether an episode that does not run is begun; see `LiveEpisodes.one`."""
REMEMBERED = 8
"""Names of lost episodes that are remembered, for each that may run."""


@dataclass(slots=True, eq=False)
class _Entry:
    name: str
    episode: LiveEpisode
    used: float = 0.0
    bytes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class LiveEpisodes:
    """Safe to share among threads: what concerns one episode happens one after another.

    An episode that was idle for too long, or gave way, is not begun anew by what is said next in
    it: what was said before would be missing without a word. Its name is remembered for that.

    Args:
        make: Makes an empty episode.
        limits: `episodes`, `total_bytes` and `idle_seconds`.
        clock: Seconds that never run backwards.
    """

    def __init__(
        self,
        make: Callable[[], LiveEpisode],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._limits = limits
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lost = _LostNames(REMEMBERED * limits.episodes)
        self._lock = threading.Lock()
        self.bytes = 0
        self.expired = 0
        self.displaced = 0

    def __len__(self) -> int:
        """How many episodes run."""
        with self._lock:
            self._expire()
            return len(self._entries)

    def __contains__(self, name: str) -> bool:
        """Whether an episode runs; asking does not keep it running."""
        with self._lock:
            self._expire()
            return name in self._entries

    @contextmanager
    def one(self, name: str, begins: Begins) -> Iterator[LiveEpisode]:
        """The episode, for this thread alone while the context lasts.

        Args:
            name: Its id.
            begins: Whether it is begun where it does not run: `never`; `once`, unless it ran
                before and was lost; or `anew`, also then.

        Raises:
            EpisodeError: It does not run and is not begun.
        """
        entry = self._entry(name, begins)
        with entry.lock:
            try:
                yield entry.episode
            finally:
                self._weigh(entry)

    def forget(self, name: str) -> bool:
        """End an episode, or forget that it was lost; returns whether there was one."""
        with self._lock:
            lost = self._lost.discard(name)
            return self._pop(name) or lost

    def _entry(self, name: str, begins: Begins) -> _Entry:
        with self._lock:
            self._expire()
            entry = self._entries.get(name)
            if entry is None:
                if begins == "never" or (begins == "once" and name in self._lost):
                    raise EpisodeError(self._missing(name))
                self._lost.discard(name)
                entry = self._entries[name] = _Entry(name, self._make())
                if len(self._entries) > self._limits.episodes:
                    self._displace()
            entry.used = self._clock()
            self._entries.move_to_end(name)
            return entry

    def _missing(self, name: str) -> str:
        if name not in self._lost:
            return f"episode {shown(name)}: expected one that runs, got an id that was not observed"
        return (
            f"episode {shown(name)}: expected one that runs, got one that was idle for over "
            f"{self._limits.idle_seconds:g} s or gave way to others (at most "
            f"{self._limits.episodes} run, of {self._limits.total_bytes} bytes together); begin it "
            f"anew, with all that was said"
        )

    def _weigh(self, entry: _Entry) -> None:
        """Count what an episode has grown by; what is too much goes, the longest idle first."""
        with self._lock:
            if self._entries.get(entry.name) is not entry:
                return
            self.bytes += entry.episode.bytes - entry.bytes
            entry.bytes = entry.episode.bytes
            while self.bytes > self._limits.total_bytes and len(self._entries) > 1:
                self._displace()

    def _expire(self) -> None:
        oldest = self._clock() - self._limits.idle_seconds
        while self._entries:
            name, entry = next(iter(self._entries.items()))
            if entry.used > oldest:
                return
            self._lose(name)
            self.expired += 1

    def _displace(self) -> None:
        self._lose(next(iter(self._entries)))
        self.displaced += 1

    def _lose(self, name: str) -> None:
        self._pop(name)
        self._lost.add(name)

    def _pop(self, name: str) -> bool:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self.bytes -= entry.bytes
        return entry is not None


class _LostNames:
    """Names of episodes that ended before anybody ended them: the last so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._marks: OrderedDict[bytes, None] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return _mark(name) in self._marks

    def add(self, name: str) -> None:
        self._marks[_mark(name)] = None
        if len(self._marks) > self._most:
            self._marks.popitem(last=False)

    def discard(self, name: str) -> bool:
        mark = _mark(name)
        there = mark in self._marks
        if there:
            del self._marks[mark]
        return there


def _mark(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
