"""What the sidecar does for each request; how it comes and goes over HTTP stands in `app`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fglguard.episode import Episode, episode_from_record
from fglguard.errors import (
    EpisodeError,
    FglguardError,
    ReusedIdError,
    RunsAlreadyError,
    SidecarError,
    UntakenError,
    raised_at,
    shown,
)
from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.live.episode import LiveEpisode
from fglguard.sidecar.generations import Generations
from fglguard.sidecar.metrics import Metrics
from fglguard.sidecar.problems import Problem
from fglguard.sidecar.queue import Queue
from fglguard.sidecar.records import (
    EpisodeRecord,
    EpisodeReply,
    HealthReply,
    KnownAgent,
    LogState,
    ReloadReply,
    stored,
)
from fglguard.sidecar.settings import SidecarSettings
from fglguard.sidecar.unlogged import refused_verdict, withdrawn_verdict
from fglguard.sidecar.verdict_log import VerdictLog, entry
from fglguard.verdict import Verdict

log = logging.getLogger(__name__)

T = TypeVar("T")

WORK_SECONDS = 60.0
"""How long a request other than a check may take."""
LOG_SECONDS = 5.0
"""How long a disk may take to take a verdict."""


class Service:
    """A guard, its episodes, its log and its counts.

    Args:
        settings: What the operator chose.
        load: Loads a guard, given the one before it.
    """

    def __init__(self, settings: SidecarSettings, load: Callable[[Guard | None], Guard]) -> None:
        self.settings = settings
        self.queue = Queue(settings.queue)
        self.generations = Generations(load)
        self.log: VerdictLog | None = None
        if settings.log is not None:
            self.log = VerdictLog(settings.log, settings.log_bytes, settings.log_files)
        self.metrics = Metrics(self.generations, self.queue, self.log)
        # One thread: verdicts stand in the log in the order in which they were written.
        self._writer = ThreadPoolExecutor(1, "fglguard-log")
        self._stuck: asyncio.Future[bool] | None = None
        self._background: set[asyncio.Future[Any]] = set()

    async def observe(
        self, episode: str, events: Sequence[Event], begins: bool, instead_of: str | None
    ) -> list[bool]:
        """Take in what was said; returns for each event whether it is new.

        Args:
            episode: Whose events they are.
            events: In order.
            begins: The episode begins with them; else it must run.
            instead_of: Name of the gap that the first of them closes.
        """
        return await self._bounded(self._observe(episode, events, begins, instead_of))

    async def leave_gap(self, episode: str, why: str) -> str | None:
        """Something was said that was refused; returns the gap's name if the episode runs."""

        def leave() -> str | None:
            with self.generations.of(episode) as one:
                return one.guard.leave_gap(episode, why)

        # Whoever checks the episode holds it: a thread waits for it, not the event loop.
        return await asyncio.to_thread(leave)

    async def check(self, event: Event, can_rewrite: bool) -> Verdict:
        """The verdict on what is about to be said."""
        leave = self._enter()
        try:
            return await self._check(event, can_rewrite)
        finally:
            leave()

    async def score(self, records: Sequence[EpisodeRecord], live: bool) -> list[Verdict]:
        """The verdicts on stored episodes."""
        return await self._bounded(self._score(records, live))

    async def look(self, name: str) -> EpisodeReply:
        """What is known of a running episode."""
        # Whoever checks the episode holds it: a thread waits for it, not the event loop.
        return await self._bounded(asyncio.to_thread(self._look, name))

    def end(self, name: str) -> None:
        """End a running episode."""
        with self.generations.of(name) as one:
            if not one.guard.forget(name):
                raise _unknown(name)
            one.drift.ended(name)

    async def reload(self) -> ReloadReply:
        """Let the bundle that is in the folder now serve."""
        try:
            one = await asyncio.to_thread(self.generations.reload)
        except FglguardError as error:
            self.metrics.reloaded("refused")
            log.error("reload refused, the guard before goes on: %s", error)
            code = "reload_busy" if isinstance(error, SidecarError) else "bundle_refused"
            raise Problem(409, code, str(error)) from error
        except Exception:
            self.metrics.reloaded("failed")
            raise
        self.metrics.reloaded("done")
        guard = one.guard
        return ReloadReply(
            model_id=guard.bundle.model_id, calibration_id=guard.calibration_id, number=one.number
        )

    def health(self) -> HealthReply:
        """Whether checks are answered, and by what."""
        one = self.generations.current
        guard, failing = one.guard, self.log is not None and self.log.failing is not None
        held_up = failing and self.settings.log_required
        return HealthReply(
            ready=not (self.queue.closed or held_up),
            status="closing" if self.queue.closed else "log_failing" if failing else "ready",
            model_id=guard.bundle.model_id,
            calibration_id=guard.calibration_id,
            domain=guard.domain,
            blocks_nothing=guard.calibration.blocks_nothing,
            mode=guard.policy.mode,
            on_error=guard.policy.on_error,
            drift_alert=one.drift.report().alert,
            log=self._log_state(),
        )

    def close(self) -> None:
        """End all threads and close the log; what runs is finished first."""
        self._writer.shutdown()
        self.generations.close()
        if self.log is not None:
            self.log.close()

    async def _observe(
        self, episode: str, events: Sequence[Event], begins: bool, instead_of: str | None
    ) -> list[bool]:
        found: list[bool] = []
        with self.generations.of(episode) as one:
            for event in events:
                first = not found
                try:
                    new = await one.guard.aobserve(
                        event,
                        begins="anew" if begins and first else "never",
                        instead_of=instead_of if first else None,
                    )
                except EpisodeError as error:
                    if error.gap is None:
                        raise _unknown(episode) from error
                    gap = await asyncio.to_thread(_untaken, one.guard, error, events[len(found) :])
                    raise _faulty(error, len(found), gap) from error
                found.append(new)
                self.metrics.observed(new)
        return found

    async def _check(self, event: Event, can_rewrite: bool) -> Verdict:
        began = time.perf_counter()
        with self.generations.of(event.episode) as one:
            guard = one.guard
            if event.episode not in guard.episodes:
                raise _unknown(event.episode)
            failing = self.log is not None and self.log.failing
            if failing and self.settings.log_required:
                verdict = refused_verdict(guard, event, failing)
            else:
                verdict = await guard.acheck(event, can_rewrite=can_rewrite)
                one.drift.checked(verdict)
            allowed_by = guard.policy.allowed.entry(event) if verdict.status == "skipped" else None
            if not await self._logged(verdict, event, allowed_by) and self.settings.log_required:
                verdict = withdrawn_verdict(verdict)
        self.metrics.checked(verdict, time.perf_counter() - began, allowed_by)
        return verdict

    async def _score(self, records: Sequence[EpisodeRecord], live: bool) -> list[Verdict]:
        episodes: list[Episode] = []
        for place, record in enumerate(records):
            try:
                episodes.append(episode_from_record(stored(record), f"episodes[{place}]"))
            except EpisodeError as error:
                raise Problem(422, "bad_episode", str(error)) from error
        verdicts = []
        with self.generations.of() as one:
            for verdict in await asyncio.to_thread(one.guard.score, episodes):
                logged = await self._logged(verdict, None, None)
                if not logged and self.settings.log_required:
                    verdict = withdrawn_verdict(verdict)
                self.metrics.scored(verdict)
                if live:
                    one.drift.scored(verdict)
                verdicts.append(verdict)
        return verdicts

    def _look(self, name: str) -> EpisodeReply:
        with self.generations.of(name) as one:
            if name not in one.guard.episodes:
                raise _unknown(name)
            try:
                with one.guard.episodes.one(name, "never") as episode:
                    return _reply(name, episode, one.guard.bundle.model_id)
            except EpisodeError as error:  # It ended just now.
                raise _unknown(name) from error

    def _log_state(self) -> LogState | None:
        if self.log is None:
            return None
        required = self.settings.log_required
        return LogState(failing=self.log.failing, lost=self.log.lost, required=required)

    async def _logged(self, verdict: Verdict, event: Event | None, allowed_by: str | None) -> bool:
        """Whether a verdict is in the log, or none is kept."""
        if self.log is None:
            return True
        if self._stuck is not None and not self._stuck.done():
            self.log.missed("a record before it is not written yet")
            return False
        record = entry(verdict, event, allowed_by, self.settings.log_text)
        loop = asyncio.get_running_loop()
        written = loop.run_in_executor(self._writer, self.log.write, record)
        done, _ = await asyncio.wait({written}, timeout=LOG_SECONDS)
        if done:
            return written.result()
        self._stuck = written
        self.log.missed(f"a record was not written within {LOG_SECONDS:g} s")
        return False

    def _enter(self) -> Callable[[], None]:
        leave = self.queue.enter()
        if leave is None:
            raise Problem(
                429,
                "queue_full",
                f"{self.settings.queue} requests are being worked at; try again",
                {"Retry-After": "1"},
            )
        return leave

    async def _bounded(self, work: Awaitable[T]) -> T:
        """The result of work that counts in the queue until it is done, also if nobody waits."""
        try:
            leave = self._enter()
        except Problem:
            if asyncio.iscoroutine(work):
                work.close()
            raise
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda _: leave())
        done, _ = await asyncio.wait({task}, timeout=WORK_SECONDS)
        if done:
            return task.result()
        self._keep(task)
        raise Problem(
            503,
            "late",
            f"not done within {WORK_SECONDS:g} s; it may still be: events with ids can be sent "
            f"again",
            {"Retry-After": "5"},
        )

    def _keep(self, task: asyncio.Future[T]) -> None:
        """Keep a task that nobody waits for, and say if it fails."""

        def ended(done: asyncio.Future[T]) -> None:
            self._background.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                kind = type(error).__name__
                log.error("late work failed: %s, raised at %s", kind, raised_at(error))

        self._background.add(task)
        task.add_done_callback(ended)


def _reply(name: str, episode: LiveEpisode, model_id: str) -> EpisodeReply:
    return EpisodeReply(
        episode=name,
        messages=episode.messages,
        bytes=episode.bytes,
        round=episode.round,
        agents=[KnownAgent(id=one.id, kind=one.kind) for one in episode.agents],
        model_id=model_id,
    )


def _unknown(name: str) -> Problem:
    return Problem(
        404,
        "unknown_episode",
        f"no episode {shown(name)} runs: it was never begun, has ended, was idle for too long, "
        f"gave way to others, or the sidecar was started anew; send all its messages again, the "
        f"first request with `begins`",
    )


def _untaken(guard: Guard, error: EpisodeError, events: Sequence[Event]) -> str | None:
    """Leave gaps for what came after an event at fault; returns the gap that is told of.

    Those that have an id close by it. That of the others is the one told of: it closes by name.
    """
    at_fault, *after = events
    why = "what came before it in its request could not be taken in"
    for event in after:
        if event.id is not None:
            guard.leave_gap(event.episode, why, event.id)
    if at_fault.id is not None and any(event.id is None for event in after):
        return guard.leave_gap(at_fault.episode, why)
    return error.gap


def _faulty(error: EpisodeError, taken: int, gap: str | None) -> Problem:
    message = f"events[{taken}]: {error}"
    if isinstance(error, UntakenError) and error.__cause__ is not None:
        log.error("%s, raised at %s", message, raised_at(error.__cause__))
        return Problem(500, "internal", message, taken=taken, gap=gap)
    for kind, code in ((ReusedIdError, "reused_id"), (RunsAlreadyError, "runs_already")):
        if isinstance(error, kind):
            return Problem(409, code, message, taken=taken, gap=gap)
    return Problem(422, "bad_event", message, taken=taken, gap=gap)
