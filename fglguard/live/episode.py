"""One running episode: what has been said so far, as far as a graph will look at it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from fglguard.episode import Agent, Episode, Message
from fglguard.episode_rules import AgentKind, check_agent, check_message, check_name
from fglguard.errors import EpisodeError, ReusedIdError, shown
from fglguard.events import Event
from fglguard.graph import EpisodeGraph, GraphSettings
from fglguard.graph_builder import GraphBuilder, Vector
from fglguard.live.limits import Limits
from fglguard.utterances import Tokenize
from fglguard.vectors import Vectors
from fglguard.verdict import Verdict

_MOST_GAPS = 16
"""That are told apart."""


class LiveEpisode:
    """Takes events in, one embedding each, and gives graphs. Not thread-safe by itself.

    Attributes:
        messages: How many were said.
        bytes: Of their texts.
        rewrite_asked: Agents whose answer that is due has been sent back once.
        passed: The verdict that let out what was said last; None where none did.

    Args:
        settings: How episodes become graphs.
        vectors: Gives embeddings.
        limits: How large it may grow.
        tokenize: For an encoder that trains.
        reads_vectors: Whether the detector looks at node features.
    """

    def __init__(
        self,
        settings: GraphSettings,
        vectors: Vectors,
        limits: Limits,
        tokenize: Tokenize | None = None,
        reads_vectors: bool = True,
    ) -> None:
        self.messages = 0
        self.bytes = 0
        self.rewrite_asked: set[str] = set()
        self.passed: Verdict | None = None
        self._last_id: str | None = None
        self._let_out: set[str] = set()
        self._gaps: dict[str | None, str] = {}
        self._vectors = vectors
        self._limits = limits
        self._agents: dict[str, AgentKind] = {}
        # An encoder that trains reads tokens, and nothing looks at the frozen one's vectors.
        self._unread = None if tokenize is None else vectors.nothing
        self._builder = GraphBuilder(
            settings, self._agents, vectors.encode, tokenize, reads_vectors
        )
        self._last: Message | None = None
        self._events: dict[str, str] = {}

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Everybody who has spoken or heard, in that order."""
        return tuple(Agent(name, kind) for name, kind in self._agents.items())

    @property
    def kinds(self) -> Mapping[str, AgentKind]:
        """Kind of each of them, by id."""
        return self._agents

    @property
    def round(self) -> int:
        """The round that runs."""
        return 0 if self._last is None else self._last.round

    def message_of(self, event: Event) -> Message:
        """The message that an event would be, held to the rules of episodes.

        Raises:
            EpisodeError: It breaks one, names an agent of unknown kind, or the episode is full.
        """
        check_name("episode", event.episode)
        self._check_room(event)
        known = {**event.agents, **self._agents}
        for name, kind in event.agents.items():
            check_agent(f"agents.{shown(name)}", Agent(name, kind))
            if known[name] != kind:
                raise EpisodeError(
                    f"agents: {shown(name)} was declared as {known[name]} before, got {kind}"
                )
        number = self._round_of(event, known) if event.round is None else event.round
        message = Message(number, event.sender, tuple(event.receivers), event.text, event.kind)
        for role, name in [("sender", event.sender), *(("receivers", r) for r in event.receivers)]:
            if name not in known:
                raise EpisodeError(
                    f"{role}: {shown(name)} is new to the episode; its kind belongs into `agents`"
                )
        check_message("event", message, set(known), self.round)
        return message

    def taken(self, event: Event) -> bool:
        """Whether an event of this id has been taken in.

        Raises:
            ReusedIdError: One of this id and another content has.
        """
        before = None if event.id is None else self._events.get(event.id)
        if before is None:
            return False
        if before != _digest(event):
            raise ReusedIdError(f"id: {shown(event.id)} was used for another event before")
        return True

    def let_out(self, event: Event) -> None:
        """Remember that an event which was taken in did not come in by being observed."""
        if event.id is not None:
            self._let_out.add(event.id)

    def was_let_out(self, event: Event) -> bool:
        """Whether this event was, by its id.

        Raises:
            ReusedIdError: As `taken`.
        """
        return self.taken(event) and event.id in self._let_out

    def said_last(self, event: Event) -> bool:
        """Whether an event has been taken in, by its id, and nothing after it.

        Raises:
            ReusedIdError: As `taken`.
        """
        return self.taken(event) and event.id == self._last_id

    def add(self, event: Event) -> bool:
        """Take in what was said; returns whether it is new, not one that was taken in before.

        What can't be taken in leaves a gap: without it nothing that follows can be judged, so that
        there are no graphs until it has come in under the same id.

        Raises:
            EpisodeError: See `message_of` and `taken`.
        """
        try:
            new = self._take(event)
        except EpisodeError as error:
            self._leave_gap(event.id, str(error))
            raise
        except Exception as error:
            # It may be taken in by half, and can't be made good.
            self._leave_gap(None, type(error).__name__)
            raise
        if event.id is not None and new:
            self._gaps.pop(event.id, None)
        return new

    def _leave_gap(self, name: str | None, why: str) -> None:
        self._gaps[name if len(self._gaps) < _MOST_GAPS else None] = why

    def _take(self, event: Event) -> bool:
        if self.taken(event):
            return False
        message, vector = self.draft(event)
        self._declare(event)
        self._builder.add(message, vector)
        self._last, self._last_id, self.passed = message, event.id, None
        self.messages += 1
        self.bytes += len(message.text.encode())
        if event.id is not None:
            self._events[event.id] = _digest(event)
        return True

    def draft(self, event: Event) -> tuple[Message, Vector]:
        """What an event that is about to be said would be, and its embedding.

        Raises:
            EpisodeError: See `message_of`.
        """
        message = self.message_of(event)
        if self._unread is not None:
            return message, self._unread
        return message, self._vectors.of(message.text)

    def graph(self, final: str, event: Event | None = None) -> EpisodeGraph:
        """The graph so far, or as if an event had been said too.

        Args:
            final: Whose answer is guarded.
            event: What is about to be said.

        Raises:
            EpisodeError: See `message_of`; nothing was said yet, `final` is unknown, or something
                that was said could not be taken in.
        """
        if event is None:
            if final not in self._agents:
                raise EpisodeError(f"agent: {shown(final)} is not one of the episode's agents")
            self._require_no_gap()
            return self._builder.graph(self.agents, final)
        draft = self.draft(event)
        self._require_no_gap()
        new = self._declare(event)
        try:
            return self._builder.graph(self.agents, final, draft)
        finally:
            for name in new:
                del self._agents[name]

    def _require_no_gap(self) -> None:
        if self._gaps:
            raise EpisodeError(
                f"something that was said before could not be taken in "
                f"({next(iter(self._gaps.values()))}): send it again, as it should be and under "
                f"the same id, or end the episode"
            )

    def episode(self, final: str, event: Event) -> Episode:
        """The messages that a graph looks at, an event that is about to be said included.

        Raises:
            EpisodeError: See `message_of`.
        """
        message = self.message_of(event)
        known = {**event.agents, **self._agents}
        messages = (*self._builder.messages, message)
        names = dict.fromkeys(n for m in messages for n in (m.sender, *m.receivers))
        agents = tuple(Agent(name, known[name]) for name in names)
        return Episode(event.episode, "live", (event.episode,), agents, messages, final)

    def _declare(self, event: Event) -> list[str]:
        """Make an event's new agents known; returns their ids."""
        new = [name for name in event.agents if name not in self._agents]
        self._agents |= {name: event.agents[name] for name in new}
        return new

    def _round_of(self, event: Event, known: dict[str, AgentKind]) -> int:
        if self._last is None:
            return 0
        speaks = known.get(event.sender) == "agent" and event.kind != "result"
        return self.round + int(speaks and self._last.sender != event.sender)

    def _check_room(self, event: Event) -> None:
        if self.messages >= self._limits.messages:
            raise EpisodeError(
                f"episode {shown(event.episode)} is full: {self.messages} messages, the most that "
                "one may have; go on in a new one"
            )
        if self.bytes + len(event.text.encode("utf-8", "replace")) > self._limits.bytes:
            raise EpisodeError(
                f"episode {shown(event.episode)} is full: {self.bytes} bytes of text, and at most "
                f"{self._limits.bytes} fit; go on in a new one"
            )
        names = event.agents.keys() | self._agents.keys()
        if len(names) > self._limits.agents:
            raise EpisodeError(
                f"episode {shown(event.episode)}: expected at most {self._limits.agents} agents, "
                f"got {len(names)}"
            )


def _digest(event: Event) -> str:
    said = replace(event, agents={})
    record = [said.sender, said.text, list(said.receivers), said.kind, said.round, said.tool]
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()
