"""From checks to one score an episode, for the drift monitor."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from fglguard.bundle import Bundle
from fglguard.drift import DriftMonitor, DriftReport
from fglguard.live.limits import Limits
from fglguard.verdict import Verdict

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Latest:
    score: float
    asked: str | None
    """Agent whose next answer is a rewrite: calibration knows answers as agents gave them."""
    used: float


class DriftWatch:
    """Feeds a monitor the score of each episode's last checked answer, once the episode ends.

    An episode ends as it is deleted, idle for too long, or gives way to newer ones. Errors have no
    score, and rewrites that the guard asked for do not count. Safe to share among threads.

    Args:
        bundle: Its reference is compared with; a new bundle needs a new watch.
        domain: Whose reference.
        limits: Episodes held, and for how long.
        clock: Seconds that never run backwards.
    """

    def __init__(
        self,
        bundle: Bundle,
        domain: str | None,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monitor = DriftMonitor(bundle.reference_for(domain))
        self._limits = limits
        self._clock = clock
        self._latest: OrderedDict[str, _Latest] = OrderedDict()
        self._lock = threading.Lock()

    def checked(self, verdict: Verdict) -> None:
        """Take in the verdict on an answer or a call of a running episode."""
        ended: list[float] = []
        score = verdict.corroborated_score
        with self._lock:
            now = self._clock()
            if score is not None and verdict.kind == "say":
                before = self._latest.get(verdict.episode_id)
                if before is not None and before.asked == verdict.agent:
                    score = before.score
                asked = verdict.agent if verdict.decision == "rewrite" else None
                self._latest[verdict.episode_id] = _Latest(score, asked, now)
                self._latest.move_to_end(verdict.episode_id)
                if len(self._latest) > self._limits.episodes:
                    ended.append(self._latest.popitem(last=False)[1].score)
            ended += self._expired(now)
        self._feed(ended)

    def ended(self, episode: str) -> None:
        """Take in that an episode has ended."""
        with self._lock:
            latest = self._latest.pop(episode, None)
        if latest is not None:
            self._feed([latest.score])

    def scored(self, verdict: Verdict) -> None:
        """Take in the verdict on a whole episode."""
        if verdict.corroborated_score is not None:
            self._feed([verdict.corroborated_score])

    def report(self) -> DriftReport:
        """How live scores compare now."""
        with self._lock:
            ended = self._expired(self._clock())
        self._feed(ended)
        return self._monitor.report()

    def _expired(self, now: float) -> list[float]:
        ended = []
        while self._latest:
            latest = next(iter(self._latest.values()))
            if latest.used > now - self._limits.idle_seconds:
                break
            ended.append(self._latest.popitem(last=False)[1].score)
        return ended

    def _feed(self, scores: list[float]) -> None:
        for score in scores:
            if self._monitor.observe(score):
                log.warning("DRIFT: %s", self._monitor.report().reason)
