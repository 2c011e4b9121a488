"""A guard in a LangGraph team: nodes after agents, a person's review, tools behind a check."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fglguard.errors import SettingsError
from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.integrations.chat_messages import MARK, Speakers, replacement
from fglguard.integrations.gate import Gate, OnVerdict
from fglguard.integrations.packages import missing_package
from fglguard.integrations.rewriting import Rewriter
from fglguard.verdict import Verdict

try:
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
    from langchain_core.runnables import RunnableConfig, RunnableLambda
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt import ToolNode
    from langgraph.types import interrupt
except ImportError as error:
    raise missing_package("langgraph", "fglguard[agents]") from error

from fglguard.integrations.chat_guard import ChatGuard, EpisodeOf, note, settled_message, thread_of

State = dict[str, Any]
Node = RunnableLambda[State, State]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Review:
    """What a person decided on an answer that was held back.

    Attributes:
        verdict: The guard's, with the decision `human_review`.
        approved: Whether the answer goes out.
        by: Who decided, as the one that resumed the graph told it.
    """

    verdict: Verdict
    approved: bool
    by: str | None = None


class TeamGuard:
    """Guards a team of agents that share a graph's messages.

    Agents' messages bear their names (`AIMessage(..., name="clerk")`). All that was said counts
    towards a verdict, whoever said it; what is checked are the calls that go through `tools`, and
    the messages of agents that have a node of the guard behind them. Text beside a call is no
    answer: it counts as said.

    Args:
        guard: The guard; its policy should have `calls=True`.
        hears: Who hears each speaker, by name; the user's too.
        user: Name of the user.
        rewriter: Asked for one rewrite of an answer that is held back.
        episode: Gives the id of the episode; by default the config's `thread_id`.
        on_verdict: Told of every verdict.
        on_review: Told of what a person decided.
        messages_key: Where the state has its messages.
    """

    def __init__(
        self,
        guard: Guard,
        hears: Mapping[str, Sequence[str]],
        *,
        user: str = "user",
        rewriter: Rewriter | None = None,
        episode: EpisodeOf = thread_of,
        on_verdict: OnVerdict | None = None,
        on_review: Callable[[Review], None] | None = None,
        messages_key: str = "messages",
    ) -> None:
        gate = Gate(guard, on_verdict, whole=True)
        self._chat = ChatGuard(gate, Speakers(hears, user), episode, rewriter, messages_key)
        self._on_review = on_review

    def tools(self, tools: Sequence[BaseTool]) -> ToolNode:
        """A node that runs tools, each call after its check."""
        return ToolNode(
            tools,
            messages_key=self._chat.messages_key,
            wrap_tool_call=self._chat.wrap_tool_call,
            awrap_tool_call=self._chat.awrap_tool_call,
        )

    def node(self, *agents: str) -> Node:
        """A node for right behind agents: their messages stand, or what may go out in their place.

        A message that calls tools is left as it is: its calls are checked where they are made.

        Args:
            agents: Whose messages since the user last spoke are checked, but for those that others
                have gone on from. By default those of the agents that the user hears, and the last
                message, whoever said it. Agents that run side by side with a node each need one
                with their names.

        Raises:
            SettingsError: Nobody has such a name.
        """
        names = self._behind(agents)

        def answer(state: Any, config: RunnableConfig) -> State:
            turn = self._turn(state, names, agents)
            for place, message in turn.due():
                said, event = self._asked(turn, place, message, config)
                if not self._settled(turn, place, event):
                    outcome = self._chat.gate.answer(said, event, self._chat.rewriter)
                    turn.settle(place, settled_message(message, outcome))
            return self._update(turn)

        async def aanswer(state: Any, config: RunnableConfig) -> State:
            turn = self._turn(state, names, agents)
            for place, message in turn.due():
                said, event = self._asked(turn, place, message, config)
                if not self._settled(turn, place, event):
                    outcome = await self._chat.gate.aanswer(said, event, self._chat.rewriter)
                    turn.settle(place, settled_message(message, outcome))
            return self._update(turn)

        return RunnableLambda(answer, aanswer, name="guard")

    def review_node(self, *agents: str) -> Node:
        """A node for right behind agents that asks a person about what is held back.

        The graph pauses with an interrupt whose value tells the message and the verdict;
        `Command(resume={"approve": True, "by": "..."})` lets the message stand, all else puts the
        safe message in its place. There is no rewrite. The node begins anew when it is resumed,
        as nodes do, and the verdict is then given again.

        Args:
            agents: As of `node`.

        Raises:
            SettingsError: As `node`.
        """
        names = self._behind(agents)

        def review(state: Any, config: RunnableConfig) -> State:
            turn = self._turn(state, names, agents)
            for place, message in turn.due():
                said, event = self._asked(turn, place, message, config)
                if not self._settled(turn, place, event):
                    verdict = self._chat.gate.check(said, event)
                    turn.settle(place, self._reviewed(message, event, verdict))
            return self._update(turn)

        async def areview(state: Any, config: RunnableConfig) -> State:
            turn = self._turn(state, names, agents)
            for place, message in turn.due():
                said, event = self._asked(turn, place, message, config)
                if not self._settled(turn, place, event):
                    verdict = await self._chat.gate.acheck(said, event)
                    turn.settle(place, self._reviewed(message, event, verdict))
            return self._update(turn)

        return RunnableLambda(review, areview, name="review")

    def _behind(self, agents: Sequence[str]) -> frozenset[str]:
        speakers = self._chat.speakers
        known = [name for name in speakers.hears if name != speakers.user]
        for name in agents:
            if name not in known:
                raise SettingsError(f"node: expected some of {', '.join(known)}, got {name!r}")
        heard = (name for name in known if speakers.user in speakers.hears[name])
        names = frozenset(agents or heard)
        self._chat.checked_apart.update(names)
        return names

    def _turn(self, state: Any, names: frozenset[str], agents: Sequence[str]) -> _Turn:
        return _Turn(self._chat.messages(state), self._chat.speakers, names, not agents)

    def _asked(
        self, turn: _Turn, place: int, message: AIMessage, config: RunnableConfig
    ) -> tuple[Iterator[Event], Event]:
        said = self._chat.before(turn.messages, config, place)
        return said, self._chat.speakers.answer(self._chat.episode(config), message)

    def _settled(self, turn: _Turn, place: int, event: Event) -> bool:
        """Whether a message was checked before, or others went on from it long ago."""
        if self._chat.stands(event):
            return True
        return place < turn.last_step and self._chat.gate.guard.was_said(event)

    def _update(self, turn: _Turn) -> State:
        return {self._chat.messages_key: turn.changed} if turn.changed else {}

    def _reviewed(self, message: AIMessage, event: Event, verdict: Verdict) -> AIMessage | None:
        """What stands in the message's place; None where it stands as it is."""
        if not verdict.blocked:
            return None
        verdict = replace(verdict, decision="human_review")
        reply = interrupt({"text": event.text, "agent": event.sender, **_told(verdict)})
        review = _review_of(reply, verdict)
        log.warning(
            "episode %r: what %s says was %s in review",
            event.episode,
            event.sender,
            "approved" if review.approved else "refused",
        )
        if self._on_review is not None:
            self._on_review(review)
        marked = note(verdict, approved=review.approved, by=review.by)
        if not review.approved:
            safe = self._chat.gate.guard.policy.safe_message
            return replacement(message, safe, marked)
        self._chat.gate.guard.approve(event)
        metadata = {**message.response_metadata, MARK: marked}
        return message.model_copy(update={"response_metadata": metadata})


class _Turn:
    """What agents said since the user last spoke.

    Attributes:
        messages: All messages of the graph, with what has been put in the place of some.
        changed: What has been put in the place of some.
        last_step: Place of the first of the agents' messages that all others end with.

    Args:
        messages: All messages of the graph.
        speakers: Who takes part.
        names: Whose messages are due.
        last_too: Whether the last message is, whoever said it.
    """

    def __init__(
        self,
        messages: Sequence[AnyMessage],
        speakers: Speakers,
        names: frozenset[str],
        last_too: bool,
    ) -> None:
        self.messages = list(messages)
        self.changed: list[AIMessage] = []
        self.last_step = len(self.messages)
        while self.last_step and isinstance(self.messages[self.last_step - 1], AIMessage):
            self.last_step -= 1
        self._speakers = speakers
        self._names = names
        self._last_too = last_too

    def due(self) -> Iterator[tuple[int, AIMessage]]:
        """The messages that are to be checked, with their places, in order.

        Those that call tools are not: their calls are checked where they are made.
        """
        last = len(self.messages) - 1
        for place in range(self._begin(), last + 1):
            message = self.messages[place]
            if not isinstance(message, AIMessage) or message.tool_calls or not message.content:
                continue
            if message.name in self._names or (self._last_too and place == last):
                yield place, message

    def _begin(self) -> int:
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            named = isinstance(message, HumanMessage) and message.name in (
                None,
                self._speakers.user,
            )
            if named and "lc_source" not in message.additional_kwargs:
                return place + 1
        return 0

    def settle(self, place: int, message: AIMessage | None) -> None:
        """Put a message in the place of one, if any."""
        if message is not None:
            self.messages[place] = message
            self.changed.append(message)


def _told(verdict: Verdict) -> dict[str, Any]:
    return {"reason": verdict.reason, **note(verdict)}


def _review_of(reply: Any, verdict: Verdict) -> Review:
    """Approved only where the reply says so and nothing else."""
    if not isinstance(reply, Mapping):
        return Review(verdict, reply is True)
    by = reply.get("by")
    return Review(verdict, reply.get("approve") is True, None if by is None else str(by))
