"""A guard in a LangGraph team: nodes after agents, a person's review, tools behind a check."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.integrations.chat_messages import MARK, Speakers, replacement
from fglguard.integrations.gate import Gate, OnVerdict
from fglguard.integrations.packages import missing_package
from fglguard.integrations.rewriting import Rewriter
from fglguard.verdict import Verdict

try:
    from langchain_core.messages import AIMessage, AnyMessage
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
    the messages of agents that have a node of the guard behind them.

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
        gate = Gate(guard, on_verdict)
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

    def node(self) -> Node:
        """A node for after an agent: its message stands, or what may go out in its place.

        Where agents that the user hears ran side by side, the messages of all of them are checked.
        Others that run side by side need a node each.

        A message that calls tools is left as it is: its calls are checked where they are made.
        """
        return RunnableLambda(self._answer, self._aanswer, name="guard")

    def review_node(self) -> Node:
        """A node for after an agent that asks a person about what is held back.

        The graph pauses with an interrupt whose value tells the message and the verdict;
        `Command(resume={"approve": True, "by": "..."})` lets the message stand, all else puts the
        safe message in its place. There is no rewrite. The node begins anew when it is resumed,
        as nodes do, and the verdict is then given again.
        """
        return RunnableLambda(self._review, self._areview, name="review")

    def _answer(self, state: State, config: RunnableConfig) -> State:
        turn = _Turn(self._messages(state), self._chat.speakers)
        for place, message in turn.due():
            said, event = self._asked(turn.messages[:place], message, config)
            if self._stands(event):
                continue
            outcome = self._chat.gate.answer(said, event, self._chat.rewriter)
            turn.settle(place, settled_message(message, outcome))
        return self._update(turn)

    async def _aanswer(self, state: State, config: RunnableConfig) -> State:
        turn = _Turn(self._messages(state), self._chat.speakers)
        for place, message in turn.due():
            said, event = self._asked(turn.messages[:place], message, config)
            if self._stands(event):
                continue
            outcome = await self._chat.gate.aanswer(said, event, self._chat.rewriter)
            turn.settle(place, settled_message(message, outcome))
        return self._update(turn)

    def _review(self, state: State, config: RunnableConfig) -> State:
        turn = _Turn(self._messages(state), self._chat.speakers)
        for place, message in turn.due():
            said, event = self._asked(turn.messages[:place], message, config)
            if self._stands(event):
                continue
            verdict = self._chat.gate.check(said, event)
            turn.settle(place, self._reviewed(message, event, verdict))
        return self._update(turn)

    async def _areview(self, state: State, config: RunnableConfig) -> State:
        turn = _Turn(self._messages(state), self._chat.speakers)
        for place, message in turn.due():
            said, event = self._asked(turn.messages[:place], message, config)
            if self._stands(event):
                continue
            verdict = await self._chat.gate.acheck(said, event)
            turn.settle(place, self._reviewed(message, event, verdict))
        return self._update(turn)

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

    def _stands(self, event: Event) -> bool:
        """Whether an earlier node settled it; the safe message tells nobody anything."""
        guard = self._chat.gate.guard
        return event.text == guard.policy.safe_message or guard.was_let_out(event)

    def _asked(
        self, before: Sequence[AnyMessage], message: AIMessage, config: RunnableConfig
    ) -> tuple[Iterator[Event], Event]:
        said = self._chat.before(before, config)
        return said, self._chat.speakers.answer(self._chat.episode(config), message)

    def _messages(self, state: State) -> list[AnyMessage]:
        messages: list[AnyMessage] = state[self._chat.messages_key]
        return messages

    def _update(self, turn: _Turn) -> State:
        return {self._chat.messages_key: turn.changed} if turn.changed else {}


class _Turn:
    """The messages that agents ended a graph's messages with, several where they ran side by side.

    Attributes:
        messages: All messages, with what has been put in the place of some.
        changed: What has been put in the place of some.
    """

    def __init__(self, messages: Sequence[AnyMessage], speakers: Speakers) -> None:
        self.messages = list(messages)
        self.changed: list[AIMessage] = []
        self._speakers = speakers

    def due(self) -> Iterator[tuple[int, AIMessage]]:
        """The last one, and those before it that the user hears, with their places, in order.

        Those that call tools are not: their calls are checked where they are made.
        """
        first = len(self.messages)
        while first and isinstance(self.messages[first - 1], AIMessage):
            first -= 1
        for place in range(first, len(self.messages)):
            message = self.messages[place]
            if not isinstance(message, AIMessage) or message.tool_calls or not message.content:
                continue
            heard = self._speakers.hears.get(message.name or "", ())
            if place == len(self.messages) - 1 or self._speakers.user in heard:
                yield place, message

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
