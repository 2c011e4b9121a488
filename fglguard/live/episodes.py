"""Running episodes by id: as many as the limits allow, each for one thread at a time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fglguard.errors import EpisodeError, shown
from fglguard.live.episode import LiveEpisode
from fglguard.live.limits import Limits


@dataclass(slots=True, eq=False)
class _Entry:
    episode: LiveEpisode
    used: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class LiveEpisodes:
    """Safe to share among threads: what concerns one episode happens one after another.

    Args:
        make: Makes an empty episode.
        limits: `episodes` and `idle_seconds`.
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
        self._lock = threading.Lock()
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
    def one(self, name: str, *, new: bool) -> Iterator[LiveEpisode]:
        """The episode, for this thread alone while the context lasts.

        Args:
            name: Its id.
            new: Begin it where there is none.

        Raises:
            EpisodeError: There is none, and `new` is false.
        """
        entry = self._entry(name, new)
        with entry.lock:
            yield entry.episode

    def forget(self, name: str) -> bool:
        """End an episode; returns whether there was one."""
        with self._lock:
            return self._entries.pop(name, None) is not None

    def _entry(self, name: str, new: bool) -> _Entry:
        with self._lock:
            self._expire()
            entry = self._entries.get(name)
            if entry is None:
                if not new:
                    raise EpisodeError(
                        f"episode {shown(name)}: expected one that runs, got an id that was never "
                        f"observed, was idle for over {self._limits.idle_seconds:g} s, or gave "
                        f"way to newer ones (at most {self._limits.episodes} run)"
                    )
                entry = self._entries[name] = _Entry(self._make(), 0.0)
                if len(self._entries) > self._limits.episodes:
                    self._entries.popitem(last=False)
                    self.displaced += 1
            entry.used = self._clock()
            self._entries.move_to_end(name)
            return entry

    def _expire(self) -> None:
        oldest = self._clock() - self._limits.idle_seconds
        while self._entries:
            name, entry = next(iter(self._entries.items()))
            if entry.used > oldest:
                return
            del self._entries[name]
            self.expired += 1
