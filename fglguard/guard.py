"""The guard: episodes in, verdicts out, offline and live alike."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from itertools import islice
from pathlib import Path

from fglguard.bundle import Bundle, load_bundle
from fglguard.calibration import Calibration
from fglguard.encoder import Encoder, load_encoder
from fglguard.episode import Episode
from fglguard.errors import SettingsError, TimeLimitError
from fglguard.events import Event
from fglguard.live.attempt import Attempt
from fglguard.live.checker import Checker
from fglguard.live.episodes import Begins, LiveEpisodes
from fglguard.live.intervention import (
    AsyncRewrite,
    Outcome,
    Rewrite,
    failed_rewrite,
    rewritten_event,
    settled,
)
from fglguard.live.judge import Judge
from fglguard.live.limits import Limits
from fglguard.live.policy import Policy
from fglguard.live.replaying import events_of
from fglguard.live.threads import CheckThreads
from fglguard.scoring import Scorer
from fglguard.signature import read_public_key
from fglguard.verdict import Verdict

log = logging.getLogger(__name__)


class Guard:
    """Scores episodes with a trained detector and decides by a calibrated threshold.

    `score` takes stored episodes. Of running ones, `observe` takes in what was said, and `check`
    gives the verdict on what is about to be said; `answer` does that, asks for one rewrite where
    it is needed, and says what may go out. All of it may be shared among threads and tasks.

    Args:
        bundle: Detector, threshold and settings.
        encoder: The encoder that the bundle names.
        policy: What is checked, what is let through, and what an error means.
        limits: How much is held at once, and how long a check may take.
        batch_size: Stored episodes scored at once.
        domain: Whose threshold decides. None, or a domain without one of its own: the pooled one.
        taints: Whether a verdict tells of tainted values. They quote the episode; a verdict without
            them holds nothing that was said in it.

    Raises:
        BundleError: The encoder is not the one that the detector was trained with.
        SettingsError: `batch_size` is not valid.
    """

    def __init__(
        self,
        bundle: Bundle,
        encoder: Encoder,
        *,
        policy: Policy | None = None,
        limits: Limits | None = None,
        batch_size: int = 256,
        domain: str | None = None,
        taints: bool = True,
    ) -> None:
        if batch_size < 1:
            raise SettingsError(f"batch_size: expected at least 1, got {batch_size!r}")
        self.bundle = bundle
        self.policy = policy or Policy()
        self.limits = limits or Limits()
        self.batch_size = batch_size
        self.domain = domain
        self.scorer = Scorer(bundle, encoder)
        self._judge = Judge(bundle, domain, self.policy, taints)
        self._checker = Checker(self.scorer, self._judge, self.policy, self.limits)
        self._threads = CheckThreads(self.limits)
        self._warn()

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        signed_by: str | Path | None = None,
        policy: Policy | None = None,
        limits: Limits | None = None,
        batch_size: int = 256,
        domain: str | None = None,
        taints: bool = True,
    ) -> Guard:
        """Load a bundle and the encoder that it names, its model too, which may take seconds.

        Args:
            path: The bundle's folder.
            signed_by: The public key that must have signed it: a file such as `host.pub` of a
                site's kit, or its one line. None: signatures are not looked at.
            policy: As in the constructor.
            limits: As in the constructor.
            batch_size: As in the constructor.
            domain: As in the constructor.
            taints: As in the constructor.

        Raises:
            SignatureError: It is not signed by that key, or the key can't be read.
            BundleError: The bundle is incomplete or changed, or the encoder differs.
            EncoderError: The encoder's packages are not installed.
        """
        key = None if signed_by is None else read_public_key(signed_by)
        bundle = load_bundle(Path(path), key)
        encoder = load_encoder(bundle.encoder_name)
        # An encoder loads its model with its first text: now, not in the first episode's latency.
        encoder.encode(["load"])
        return cls(
            bundle,
            encoder,
            policy=policy,
            limits=limits,
            batch_size=batch_size,
            domain=domain,
            taints=taints,
        )

    @property
    def threshold(self) -> float:
        """tau: an episode whose corroborated score is at or above it is blocked."""
        return self._judge.threshold

    @property
    def calibration(self) -> Calibration:
        """How the threshold was chosen."""
        return self._judge.calibration

    @property
    def calibration_id(self) -> str:
        """Which calibration it is."""
        return self._judge.calibration_id

    @property
    def running(self) -> int:
        """How many episodes run."""
        return len(self._checker.episodes)

    @property
    def episodes(self) -> LiveEpisodes:
        """The running episodes."""
        return self._checker.episodes

    def take_over(self, other: Guard) -> bool:
        """Go on with another guard's running episodes, before this one has any of its own.

        Both then share them, so that the other may finish what it is at.

        Returns:
            Whether it could: both read episodes alike (encoder, graph settings, limits).
        """
        return self._checker.take_over(other._checker)

    def score(self, episodes: Iterable[Episode]) -> list[Verdict]:
        """One verdict for each stored episode, in order.

        An episode that can't be scored gets status `error` and the decision of the policy's
        `on_error`; it does not spoil the others. Errors are logged by type and episode, without
        texts.

        Raises:
            TypeError: Something among `episodes` is not an Episode.
        """
        verdicts: list[Verdict] = []
        remaining = iter(episodes)
        while chunk := list(islice(remaining, self.batch_size)):
            for episode in chunk:
                if not isinstance(episode, Episode):
                    raise TypeError(f"expected an Episode, got {type(episode).__name__}")
            verdicts += self._score_chunk(chunk)
        return verdicts

    def observe(
        self, event: Event, *, begins: Begins = "once", instead_of: str | None = None
    ) -> bool:
        """Take in what was said in a running episode, which begins with its first event.

        Args:
            event: What was said.
            begins: Whether its episode begins with it where it does not run. `once`: unless it ran
                before and was lost, since it was idle for too long or gave way to others; what was
                said before would be missing. `anew`: also then, and an error where it runs
                already. `never`: an error where it does not run.
            instead_of: Name of the gap that this closes (`EpisodeError.gap`): it is what the agents
                read in the place of what could not be taken in.

        Returns:
            Whether it is new; False for an event whose id was taken in before.

        Raises:
            EpisodeError: It can't be a message of its episode. Nothing of it is taken in, and a
                running episode has a gap: no check passes until the event has come in under its
                id, or another `instead_of` it.
        """
        return self._checker.observe(event, begins, instead_of)

    def leave_gap(self, episode: str, why: str, event_id: str | None = None) -> str | None:
        """Say that something was said in a running episode which the guard does not get to see.

        Args:
            episode: Its id.
            why: The reason, for those who read why a check is an error.
            event_id: The gap closes once the event of this id is taken in.

        Returns:
            The gap's name, for `observe(..., instead_of=...)`; None where no such episode runs.
        """
        return self._checker.leave_gap(episode, why, event_id)

    def approve(self, event: Event) -> None:
        """Take in an answer that was held back and that a person let out all the same.

        Raises:
            EpisodeError: It can't be a message of its episode, or that does not run.
        """
        self._checker.approve(event)

    def was_said(self, event: Event) -> bool:
        """Whether an event of this id and content was taken in already, in whatever way."""
        return self._checker.was_said(event)

    def was_let_out(self, event: Event) -> bool:
        """Whether an event of this id and content went out already, by a check or by `approve`."""
        return self._checker.was_let_out(event)

    def check(self, event: Event, *, can_rewrite: bool = False) -> Verdict:
        """The verdict on what is about to be said; what may go out counts as said.

        Whatever goes wrong becomes a verdict of status `error` with the decision of `on_error`.
        Asked again about what was let out, under the same id and with nothing observed since, it
        gives the same verdict again.

        Args:
            event: The answer, or the tool call.
            can_rewrite: An answer may be sent back to be rewritten: it then gets the decision
                `rewrite`, once, where else it would get `block`.
        """
        if not self.limits.check_seconds:
            return self._checker.check(event, can_rewrite, Attempt())
        began = time.perf_counter()
        attempt = Attempt()
        try:
            running = self._submitted(event, can_rewrite, attempt)
            return running.result(self.limits.check_seconds)
        except FutureTimeoutError:
            # One that counts already has but little to do, and its verdict is what holds.
            return self._late(event, began) if attempt.give_up() else running.result()
        except (TimeLimitError, RuntimeError) as error:  # RuntimeError: the guard was closed
            return self._judge.of(event, self._judge.failure(event.episode, error, began))

    async def acheck(self, event: Event, *, can_rewrite: bool = False) -> Verdict:
        """`check`, without holding up the event loop."""
        began = time.perf_counter()
        attempt = Attempt()
        limit = self.limits.check_seconds or None
        try:
            running = asyncio.wrap_future(self._submitted(event, can_rewrite, attempt))
            # Of a check that was given up, nobody asks for the error any more.
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
            done, _ = await asyncio.wait({running}, timeout=limit)
            # One that counts already has but little to do, and its verdict is what holds.
            return self._late(event, began) if not done and attempt.give_up() else await running
        except (TimeLimitError, RuntimeError) as error:  # RuntimeError: the guard was closed
            return self._judge.of(event, self._judge.failure(event.episode, error, began))
        except asyncio.CancelledError:
            attempt.give_up()
            raise

    async def aobserve(
        self, event: Event, *, begins: Begins = "once", instead_of: str | None = None
    ) -> bool:
        """`observe`, without holding up the event loop.

        What was said is taken in although the task that waits for it may be cancelled.
        """
        observed = self._threads.observe(
            lambda: self.observe(event, begins=begins, instead_of=instead_of)
        )
        return await asyncio.shield(asyncio.wrap_future(observed))

    def answer(self, event: Event, rewrite: Rewrite | None = None) -> Outcome:
        """What may go out in the place of an answer: it, one rewrite of it, or the safe message.

        Args:
            event: The answer.
            rewrite: Called at most once, with the answer and its verdict; the text it returns is
                scored by the same rule. None: an answer that is held back is refused.
        """
        first = self.check(event, can_rewrite=rewrite is not None)
        if first.decision != "rewrite" or rewrite is None or not first.blocked:
            return settled(event, (first,), self.policy.safe_message)
        try:
            again = rewritten_event(event, rewrite(event, first))
        except Exception as error:  # noqa: BLE001 - the caller's own: the answer is refused
            failed_rewrite(event, error)
            again = None
        if again is None:
            return settled(event, (first,), self.policy.safe_message)
        return settled(again, (first, self.check(again)), self.policy.safe_message)

    async def aanswer(self, event: Event, rewrite: AsyncRewrite | None = None) -> Outcome:
        """`answer`, without holding up the event loop."""
        first = await self.acheck(event, can_rewrite=rewrite is not None)
        if first.decision != "rewrite" or rewrite is None or not first.blocked:
            return settled(event, (first,), self.policy.safe_message)
        try:
            again = rewritten_event(event, await rewrite(event, first))
        except Exception as error:  # noqa: BLE001 - the caller's own: the answer is refused
            failed_rewrite(event, error)
            again = None
        if again is None:
            return settled(event, (first,), self.policy.safe_message)
        return settled(again, (first, await self.acheck(again)), self.policy.safe_message)

    def failure(self, event: Event, error: Exception) -> Verdict:
        """The verdict on an event that can't be checked, since what came before it is not known.

        Args:
            event: What is about to be said.
            error: Why, such as what `observe` raised.
        """
        began = time.perf_counter()
        return self._judge.of(event, self._judge.failure(event.episode, error, began))

    def review(self, episode: str, agent: str) -> Verdict:
        """The verdict on an agent of a running episode by what has been said so far."""
        return self._checker.review(episode, agent)

    def replay(self, episode: Episode) -> list[Verdict]:
        """The verdicts that a stored episode would have got live, message by message.

        Each message of an agent is checked as the policy says, and then counts as said, whatever
        the verdict; the last verdict is on the whole episode, as `score` gives it.
        """
        replayed = Checker(self.scorer, self._judge, self.policy, self.limits)
        verdicts = []
        for event, checked in events_of(episode):
            if checked and self.policy.passed_over(event) is None:
                verdicts.append(replayed.preview(event))
            replayed.observe(event)
        return [*verdicts, replayed.review(episode.id, episode.final_agent)]

    def forget(self, episode: str) -> bool:
        """End a running episode; returns whether there was one."""
        return self._checker.episodes.forget(episode)

    def close(self) -> None:
        """End the guard's threads; checks that run are finished first."""
        self._threads.shutdown()

    def _submitted(self, event: Event, can_rewrite: bool, attempt: Attempt) -> Future[Verdict]:
        return self._threads.check(
            lambda: self._checker.check(event, can_rewrite, attempt), attempt
        )

    def _late(self, event: Event, began: float) -> Verdict:
        error = TimeLimitError(f"not done within {self.limits.check_seconds:g} s")
        return self._judge.of(event, self._judge.failure(event.episode, error, began))

    def _warn(self) -> None:
        """Say what an operator would not expect of the threshold."""
        known = self.bundle.domains
        if self.domain is not None and self.domain not in known:
            log.warning(
                "the guard has no threshold of its own for domain %r (it has: %s): the pooled one "
                "decides",
                self.domain,
                ", ".join(sorted(known)) or "none",
            )
        if self.calibration.blocks_nothing:
            log.warning(
                "THIS GUARD BLOCKS NOTHING: %s",
                self.calibration.reason or "no threshold was within its budget",
            )

    def _score_chunk(self, episodes: Sequence[Episode]) -> list[Verdict]:
        began = time.perf_counter()
        try:
            scored = self.scorer.scored(self.scorer.graphs(episodes))
            return [
                self._judge.scored(episode.id, one, began)
                for episode, one in zip(episodes, scored, strict=True)
            ]
        except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
            if len(episodes) == 1:
                return [self._judge.failure(episodes[0].id, error, began)]
        # One of them is at fault; alone, each gets its own verdict.
        return [verdict for episode in episodes for verdict in self._score_chunk([episode])]
