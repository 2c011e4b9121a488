"""One running episode: what has been said so far, as far as a graph will look at it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fglguard.episode import Agent, Episode, Message
from fglguard.episode_rules import AgentKind, check_agent, check_message, check_name
from fglguard.errors import EpisodeError, ReusedIdError, UntakenError, shown
from fglguard.events import Event
from fglguard.flow.calls import Heard
from fglguard.graph import EpisodeGraph, GraphSettings
from fglguard.graph_builder import GraphBuilder, Vector
from fglguard.live.gaps import Gaps
from fglguard.live.limits import Limits
from fglguard.utterances import Tokenize
from fglguard.vectors import Vectors
from fglguard.verdict import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """An event with all that is embedded of it: to take it in takes no time worth telling."""

    message: Message
    vector: Vector
    heard: Heard | None


class LiveEpisode:
    """Takes events in, one embedding each, and gives graphs. Not thread-safe by itself.

    Attributes:
        messages: How many were said.
        bytes: Of their texts and ids.
        rewrite_asked: Agents whose answer that is due has been sent back once.
        passed: By id, the verdicts that let out what was said since anything else was.
        gaps: What was said and could not be taken in.

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
        self.passed: dict[str, Verdict] = {}
        self._let_out: set[str] = set()
        self.gaps = Gaps()
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
        for name, value in (("id", event.id), ("tool", event.tool)):
            if value is not None:
                check_name(name, value)
        self._check_room(event)
        known = self._known(event)
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

    def let_out(self, event: Event, verdict: Verdict | None = None) -> None:
        """Remember that an event which was taken in did not come in by being observed.

        Args:
            event: What went out.
            verdict: By which; None: by a person's word.
        """
        if event.id is not None:
            self._let_out.add(event.id)
            if verdict is not None:
                self.passed[event.id] = verdict

    def verdict_again(self, event: Event) -> Verdict | None:
        """The verdict that let an event out, if nothing was observed since; None without one.

        Raises:
            ReusedIdError: As `taken`.
        """
        return self.passed.get(event.id or "") if self.taken(event) else None

    def was_let_out(self, event: Event) -> bool:
        """Whether this event was, by its id.

        Raises:
            ReusedIdError: As `taken`.
        """
        return self.taken(event) and event.id in self._let_out

    def require_agents_own(self, event: Event) -> None:
        """Raise EpisodeError for what no agent is about to say or to call."""
        kind = self._known(event).get(event.sender, "agent")
        if event.kind == "result" or kind != "agent":
            raise EpisodeError(
                f"sender: expected an agent that is about to say something or to call a tool, got "
                f"a {event.kind} of {shown(event.sender)}, known as {kind}; what users said and "
                f"tools gave is observed, not checked"
            )

    def add(self, event: Event, instead_of: str | None = None) -> bool:
        """Take in what was said; returns whether it is new, not one that was taken in before.

        What can't be taken in leaves a gap (see `Gaps`), whose name stands in the error.

        Args:
            event: What was said.
            instead_of: Name of the gap that it closes, beside those of its own id.

        Raises:
            EpisodeError: See `message_of` and `taken`; or there is no such gap.
            UntakenError: The encoder failed.
        """
        try:
            new = not self.taken(event)
            if new and instead_of is not None and instead_of not in self.gaps:
                raise EpisodeError(f"instead_of: expected an open gap, got {shown(instead_of)}")
            ready = self.ready(event) if new else None
        except ReusedIdError as error:
            error.gap = self.leave_gap(str(error))
            raise
        except EpisodeError as error:
            error.gap = self.leave_gap(str(error), event.id)
            raise
        except Exception as error:
            untaken = UntakenError(f"it could not be taken in: {type(error).__name__}")
            untaken.gap = self.leave_gap(str(untaken), event.id)
            raise untaken from error
        if ready is not None:
            self.take(event, ready)
            self.passed.clear()
        elif event.id is not None:
            self.gaps.close_of(event.id)
        if instead_of is not None and instead_of in self.gaps:
            self.gaps.close(instead_of)
        return new

    def leave_gap(self, why: str, event_id: str | None = None) -> str:
        """Something was said that is not taken in; returns the gap's name."""
        self.passed.clear()
        return self.gaps.leave(why, event_id)

    def ready(self, event: Event) -> Ready:
        """What an event would add, all of it embedded; nothing is taken in.

        Raises:
            EpisodeError: See `message_of`.
        """
        message, vector = self.draft(event)
        return Ready(message, vector, self._builder.heard(message, self._known(event)))

    def take(self, event: Event, ready: Ready) -> None:
        """Take in an event that is new."""
        size = self._size(event)
        try:
            self._declare(event)
            self._builder.add(ready.message, ready.vector, ready.heard)
        except Exception as error:
            self.gaps.give_up(f"{type(error).__name__} while a message was taken in")
            raise
        self._last = ready.message
        self.messages += 1
        self.bytes += size
        if event.id is not None:
            self._events[event.id] = _digest(event)
            self.gaps.close_of(event.id)

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
            self.gaps.require_none()
            return self._builder.graph(self.agents, final)
        draft = self.draft(event)
        self.gaps.require_none()
        new = self._declare(event)
        try:
            return self._builder.graph(self.agents, final, draft)
        finally:
            for name in new:
                del self._agents[name]

    def episode(self, final: str, event: Event) -> Episode:
        """The messages that a graph looks at, an event that is about to be said included.

        Raises:
            EpisodeError: See `message_of`.
        """
        message = self.message_of(event)
        known = self._known(event)
        messages = (*self._builder.messages, message)
        names = dict.fromkeys(n for m in messages for n in (m.sender, *m.receivers))
        agents = tuple(Agent(name, known[name]) for name in names)
        return Episode(event.episode, "live", (event.episode,), agents, messages, final)

    def _known(self, event: Event) -> dict[str, AgentKind]:
        return {**event.agents, **self._agents}

    def _declare(self, event: Event) -> list[str]:
        """Make an event's new agents known; returns their ids."""
        new = [name for name in event.agents if name not in self._agents]
        self._agents |= {name: event.agents[name] for name in new}
        return new

    def _size(self, event: Event) -> int:
        """Bytes of what is kept of an event: its text, and the ids that come with it."""
        new = event.agents.keys() - self._agents.keys()
        kept = (event.text, event.id or "", *event.receivers, *new)
        return sum(len(one.encode("utf-8", "surrogatepass")) for one in kept)

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
        if self.bytes + self._size(event) > self._limits.bytes:
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
