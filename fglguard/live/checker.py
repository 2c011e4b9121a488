"""Running episodes under guard: what is said is taken in, what is about to be said is checked."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from fglguard.attribution.drivers import edge_drivers
from fglguard.errors import EpisodeError, FglguardError, RunsAlreadyError, TimeLimitError, shown
from fglguard.events import Event
from fglguard.live.attempt import Attempt
from fglguard.live.episode import LiveEpisode
from fglguard.live.episodes import Begins, LiveEpisodes
from fglguard.live.judge import Judge
from fglguard.live.limits import Limits
from fglguard.live.policy import Policy
from fglguard.packed_graphs import pack
from fglguard.scoring import Scored, Scorer
from fglguard.vectors import Vectors
from fglguard.verdict import Driver, Verdict

log = logging.getLogger(__name__)

MOST_DRIVERS = 5
"""Edges that a verdict tells of."""
MOST_CHARACTERS = 500_000
"""Heard in all graphs that are made to find them: some tenths of a second."""


class Checker:
    """Holds the running episodes of one guard; safe to share among threads.

    Args:
        scorer: Gives scores.
        judge: Makes verdicts of them.
        policy: What is checked.
        limits: How much is held at once.
    """

    def __init__(self, scorer: Scorer, judge: Judge, policy: Policy, limits: Limits) -> None:
        self._scorer = scorer
        self._judge = judge
        self._policy = policy
        self._limits = limits
        vectors = Vectors(scorer.encoder, limits.cached_texts)
        graph, tokenize = scorer.bundle.graph, scorer.tokenize
        reads_vectors = scorer.bundle.detector.reads_vectors
        self._lookup = vectors.encode
        self.episodes = LiveEpisodes(
            lambda: LiveEpisode(graph, vectors, limits, tokenize, reads_vectors), limits
        )

    def take_over(self, other: Checker) -> bool:
        """Go on with another's running episodes, which both then share, if they can be read alike.

        Returns:
            Whether they can: encoder, graph settings and limits are the same.
        """
        mine, theirs = self._scorer.bundle, other._scorer.bundle
        alike = (
            mine.encoder_fingerprint == theirs.encoder_fingerprint
            and mine.graph == theirs.graph
            and self._limits == other._limits
        )
        if alike:
            self.episodes, self._lookup = other.episodes, other._lookup
        return alike

    def observe(self, event: Event, begins: Begins = "once", instead_of: str | None = None) -> bool:
        """Take in what was said; returns whether it is new.

        Args:
            event: What was said.
            begins: Whether its episode begins with it; see `LiveEpisodes.one`. One that begins
                `anew` must not run already, unless it was this event that began it.
            instead_of: Name of the gap that it closes.

        Raises:
            EpisodeError: It can't be a message of its episode, or its id was used for another;
                its episode can't begin, or does not run.
        """
        with self.episodes.one(event.episode, begins) as episode:
            if begins == "anew" and episode.messages and not episode.taken(event):
                error = RunsAlreadyError(
                    f"episode {shown(event.episode)}: expected one that does not run yet, since "
                    f"this is to begin it; it has {episode.messages} messages: end it first"
                )
                error.gap = episode.leave_gap(str(error))
                raise error
            new = episode.add(event, instead_of)
            if new and episode.kinds[event.sender] == "user":
                episode.rewrite_asked.clear()
            return new

    def leave_gap(self, name: str, why: str, event_id: str | None = None) -> str | None:
        """Something was said in an episode that can't be taken in; returns the gap's name.

        None: it does not run, so that nothing in it is judged either.
        """
        try:
            with self.episodes.one(name, "never") as episode:
                return episode.leave_gap(why, event_id)
        except EpisodeError:
            return None

    def approve(self, event: Event) -> None:
        """Take in what a person let out.

        Raises:
            EpisodeError: As `observe`.
        """
        with self.episodes.one(event.episode, "never") as episode:
            episode.add(event)
            episode.let_out(event)

    def was_said(self, event: Event) -> bool:
        """Whether an event of this id and content was taken in, in whatever way."""
        try:
            with self.episodes.one(event.episode, "never") as episode:
                return episode.taken(event)
        except EpisodeError:  # It does not run any more, or the id is another event's: no.
            return False

    def was_let_out(self, event: Event) -> bool:
        """Whether an event of this id and content went out by a check, or a person's word."""
        try:
            with self.episodes.one(event.episode, "never") as episode:
                return episode.was_let_out(event)
        except EpisodeError:  # As above.
            return False

    def check(self, event: Event, can_rewrite: bool, attempt: Attempt) -> Verdict:
        """The verdict on what is about to be said; what may go out counts as said.

        Asked again about what was let out, under the same id and with nothing observed since, it
        gives the same verdict again: an answer was lost, or a graph's step began anew, with all
        that was checked in it.

        What goes out although it could not be judged (`on_error`, shadow mode) is taken in like
        all else, or leaves a gap.

        Args:
            event: What is about to be said.
            can_rewrite: The caller can send it back once: it then gets `rewrite` before `block`.
            attempt: Committed before anything counts.
        """
        began = time.perf_counter()
        try:
            with self.episodes.one(event.episode, "never") as episode:
                return self._checked(event, episode, can_rewrite, attempt, began)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
            return self._judge.of(event, self._judge.failure(event.episode, error, began))

    def _checked(
        self,
        event: Event,
        episode: LiveEpisode,
        can_rewrite: bool,
        attempt: Attempt,
        began: float,
    ) -> Verdict:
        try:
            if (passed := episode.verdict_again(event)) is not None:
                attempt.commit()
                return passed
            verdict = self._check(event, episode, can_rewrite, began)
        except TimeLimitError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
            verdict = self._judge.failure(event.episode, error, began)
        verdict = self._judge.of(event, verdict)
        if verdict.blocked:
            attempt.commit()
            if verdict.decision == "rewrite":
                episode.rewrite_asked.add(event.sender)
        else:
            self._let_out(event, episode, verdict, attempt)
        return verdict

    def _let_out(
        self, event: Event, episode: LiveEpisode, verdict: Verdict, attempt: Attempt
    ) -> None:
        """Count an event as said: all that takes its time before the attempt is committed."""
        ready = None
        try:
            ready = None if episode.taken(event) else episode.ready(event)
        except Exception as error:
            if verdict.status != "error":
                raise
            # It goes out by the operator's word all the same: what follows can't be judged.
            attempt.commit()
            own = isinstance(error, FglguardError)
            episode.leave_gap(str(error) if own else type(error).__name__)
            return
        attempt.commit()
        if verdict.decision == "rewrite":  # in shadow mode
            episode.rewrite_asked.add(event.sender)
        if ready is not None:
            episode.take(event, ready)
        episode.let_out(event, verdict)
        if event.kind == "say" and event.receivers:
            episode.rewrite_asked.discard(event.sender)

    def preview(self, event: Event) -> Verdict:
        """The verdict that `check` would give, `allow` or `block`; nothing counts as said."""
        began = time.perf_counter()
        try:
            with self.episodes.one(event.episode, "never") as episode:
                verdict = self._check(event, episode, False, began)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
            verdict = self._judge.failure(event.episode, error, began)
        return self._judge.of(event, verdict)

    def review(self, name: str, agent: str) -> Verdict:
        """The verdict on an agent by what has been said so far; nothing is added to it."""
        began = time.perf_counter()
        try:
            with self.episodes.one(name, "never") as episode:
                scored = self._scorer.scored_one(episode.graph(agent))
                return self._judge.scored(name, scored, began)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
            return self._judge.failure(name, error, began)

    def _check(
        self, event: Event, episode: LiveEpisode, can_rewrite: bool, began: float
    ) -> Verdict:
        if episode.taken(event):
            raise EpisodeError(f"id: {shown(event.id)} has been said already")
        episode.require_agents_own(event)
        if (why := self._policy.passed_over(event)) is not None:
            episode.message_of(event)
            return self._judge.skipped(event.episode, why, began)
        scored = self._scorer.scored_one(episode.graph(event.sender, event))
        verdict = self._judge.scored(event.episode, scored, began)
        if verdict.decision == "allow":
            return verdict
        if self._policy.explain:
            verdict = self._explained(verdict, scored, episode, event)
        if can_rewrite and event.kind == "say" and event.sender not in episode.rewrite_asked:
            verdict = replace(verdict, decision="rewrite")
        return replace(verdict, latency_ms=(time.perf_counter() - began) * 1000)

    def _explained(
        self, verdict: Verdict, scored: Scored, episode: LiveEpisode, event: Event
    ) -> Verdict:
        try:
            return replace(verdict, drivers=self._drivers(scored, episode, event))
        except Exception as error:
            kind = type(error).__name__
            log.exception("episode %r: what drove the score is unknown", event.episode)
            return replace(verdict, reason=f"{verdict.reason}; what drove it is unknown ({kind})")

    def _drivers(self, scored: Scored, episode: LiveEpisode, event: Event) -> tuple[Driver, ...]:
        bundle, graph = self._scorer.bundle, scored.graph
        whole = episode.episode(event.sender, event)
        places, changes = edge_drivers(
            bundle.detector,
            pack([graph]),
            0,
            graph.agent_ids,
            whole,
            bundle.graph,
            self._lookup,
            MOST_CHARACTERS,
        )
        first = episode.messages + 1 - len(whole.messages)
        found = []
        for place, change in zip(places.tolist(), changes.tolist(), strict=True):
            sender, receiver = (
                graph.agent_ids[graph.src[place]],
                graph.agent_ids[graph.dst[place]],
            )
            along = tuple(
                first + number
                for number, message in enumerate(whole.messages)
                if message.sender == sender and receiver in message.receivers
            )
            found.append(Driver(sender, receiver, change, along))
        found.sort(key=lambda driver: -driver.change)
        return tuple(found[:MOST_DRIVERS])
