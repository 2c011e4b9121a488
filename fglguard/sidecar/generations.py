"""Guards that follow each other while requests and episodes run."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fglguard.errors import SidecarError
from fglguard.guard import Guard
from fglguard.sidecar.drift_watch import DriftWatch

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Generation:
    """A guard and what belongs to it alone.

    Attributes:
        guard: The guard.
        drift: Of its calibration.
        number: From 1.
        busy: Requests that use it, by their episode's id; "" for those of none.
        handed_over: Its episodes are shared with the one that follows.
    """

    guard: Guard
    drift: DriftWatch
    number: int
    busy: Counter[str] = field(default_factory=Counter)
    handed_over: bool = False


class Generations:
    """Which guard serves an episode; safe to share among threads.

    The latest one serves. It goes on with the running episodes of the one before it where both
    read episodes alike; where they do not, those episodes stay with the older guard until they
    end. A guard without requests and episodes is let go.

    Args:
        load: Loads a guard, given the one before it.
    """

    def __init__(self, load: Callable[[Guard | None], Guard]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._older: list[Generation] = []
        self._current = self._generation(load(None), 1)

    @property
    def current(self) -> Generation:
        """The one that serves new episodes."""
        return self._current

    @property
    def every(self) -> list[Generation]:
        """Those that have requests or episodes of their own, the current one first."""
        with self._lock:
            self._let_go()
            return [self._current, *(one for one in self._older if not one.handed_over)]

    @contextmanager
    def of(self, episode: str = "") -> Iterator[Generation]:
        """The generation that serves an episode, kept while the context lasts."""
        with self._lock:
            chosen = self._serving(episode)
            chosen.busy[episode] += 1
        try:
            yield chosen
        finally:
            with self._lock:
                chosen.busy[episode] -= 1
                if not chosen.busy[episode]:
                    del chosen.busy[episode]
                self._let_go()

    def reload(self) -> Generation:
        """Load the next guard beside the one that serves, then let it serve.

        Raises:
            SidecarError: Another reload is on its way; or the new guard reads episodes otherwise,
                and some still run that began before the last such change.
            FglguardError: The bundle can't be loaded; the guard before goes on.
        """
        if not self._loading.acquire(blocking=False):
            raise SidecarError("a reload is on its way already; wait for it")
        try:
            before = self._current
            guard = self._load(before.guard)
            handed_over = guard.take_over(before.guard)
            after = self._generation(guard, before.number + 1)
            with self._lock:
                self._let_go()
                if not handed_over and any(not one.handed_over for one in self._older):
                    guard.close()
                    raise SidecarError(
                        "episodes still run that only the guard before this one can read; two such "
                        "changes at a time are not served: reload again once they have ended"
                    )
                before.handed_over = handed_over
                self._older.append(before)
                self._current = after
                self._let_go()
        finally:
            self._loading.release()
        log.info(
            "guard %d serves: model %s, calibration %s; running episodes %s",
            after.number,
            guard.bundle.model_id,
            guard.calibration_id,
            "go on with it" if handed_over else "stay with the one before until they end",
        )
        return after

    def close(self) -> None:
        """End all guards' threads; checks that run are finished first."""
        with self._lock:
            every = [self._current, *self._older]
        for one in every:
            one.guard.close()

    def _generation(self, guard: Guard, number: int) -> Generation:
        return Generation(guard, DriftWatch(guard.bundle, guard.domain, guard.limits), number)

    def _serving(self, episode: str) -> Generation:
        for one in self._older:
            # A request may be about to begin the episode.
            if not one.handed_over and (one.busy[episode] or episode in one.guard.episodes):
                return one
        return self._current

    def _let_go(self) -> None:
        kept = []
        for one in self._older:
            if one.busy or not (one.handed_over or not one.guard.running):
                kept.append(one)
                continue
            log.info("guard %d is let go", one.number)
            # Checks that were given up may still run; nobody need wait for them.
            threading.Thread(target=one.guard.close, daemon=True).start()
        self._older = kept
