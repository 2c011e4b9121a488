"""A guard as middleware of LangChain's agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.integrations.chat_messages import MARK, Speakers, refused
from fglguard.integrations.gate import Gate, OnVerdict
from fglguard.integrations.packages import missing_package
from fglguard.integrations.rewriting import Rewriter
from fglguard.live.intervention import Outcome

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime
except ImportError as error:
    raise missing_package("langchain", "fglguard[agents]") from error

from fglguard.integrations.chat_guard import (
    ChatGuard,
    EpisodeOf,
    ToolOutput,
    note,
    settled_message,
    thread_of,
)

Update = dict[str, Any]


class GuardMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Checks an agent's tool calls before the tools run, and its answer before it stands.

    A call that is held back does not happen: the model reads an error in the place of its result.
    An answer that is held back is rewritten once where there is a rewriter, else replaced by the
    policy's safe message, under the message's own id. Whether calls are checked at all is the
    policy's `calls`.

    The answer stands in the agent's state, and so in `invoke`'s result, once it has passed; a
    tool's result that is returned directly is an answer too. A stream of tokens, or of the model's
    own updates, runs ahead of that. Text beside a call is no answer: it counts as said.

    Args:
        guard: The guard; its policy should have `calls=True`.
        rewriter: Asked for one rewrite of an answer (`fglguard.integrations.rewriting.rewriter`).
        episode: Gives the id of the episode; by default the config's `thread_id`.
        agent: Id of the agent, as verdicts and allow-lists name it.
        user: Id of the user.
        on_verdict: Told of every verdict.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        rewriter: Rewriter | None = None,
        episode: EpisodeOf = thread_of,
        agent: str = "agent",
        user: str = "user",
        on_verdict: OnVerdict | None = None,
    ) -> None:
        super().__init__()
        speakers = Speakers({user: (agent,), agent: (user,)}, user, agent)
        self._chat = ChatGuard(Gate(guard, on_verdict, whole=True), speakers, episode, rewriter)

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Take in what the user and the tools said; what can't be is told by the next verdict."""
        self._chat.gate.observe(self._chat.before(state["messages"], get_config()))

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """`before_model`, without holding up the event loop."""
        await self._chat.gate.aobserve(self._chat.before(state["messages"], get_config()))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolOutput]
    ) -> ToolOutput:
        """Run a tool, unless its call is held back."""
        return self._chat.wrap_tool_call(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolOutput]]
    ) -> ToolOutput:
        """`wrap_tool_call`, without holding up the event loop."""
        return await self._chat.awrap_tool_call(request, handler)

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Let an answer stand, or what is to stand in its place."""
        if (due := self._due(state)) is None:
            return None
        return due.update(self._chat.gate.answer(due.said, due.event, due.rewriter))

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """`after_model`, without holding up the event loop."""
        if (due := self._due(state)) is None:
            return None
        return due.update(await self._chat.gate.aanswer(due.said, due.event, due.rewriter))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Let results stand that are returned directly, or what is to stand in their place."""
        changed = []
        for said, message, event in self._ends(state):
            outcome = self._chat.gate.answer(said, event, self._chat.rewriter)
            changed += _ended(message, outcome)
        return {"messages": changed} if changed else None

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """`after_agent`, without holding up the event loop."""
        changed = []
        for said, message, event in self._ends(state):
            outcome = await self._chat.gate.aanswer(said, event, self._chat.rewriter)
            changed += _ended(message, outcome)
        return {"messages": changed} if changed else None

    def _ends(self, state: AgentState[Any]) -> Iterator[tuple[Iterator[Event], ToolMessage, Event]]:
        """Results of tools that a run ends with, as answers, and what came before."""
        messages = state["messages"]
        config = get_config()
        episode = self._chat.episode(config)
        place = len(messages)
        while place and isinstance(messages[place - 1], ToolMessage):
            place -= 1
        caller = messages[place - 1] if place else None
        if not isinstance(caller, AIMessage):
            return
        speakers = self._chat.speakers
        if state.get("structured_response") is not None and self._chat.stands(
            speakers.answer(episode, caller)
        ):
            return  # The tool message tells the answer again, which was checked.
        for message in messages[place:]:
            if isinstance(message, ToolMessage) and not refused(message):
                event = speakers.told_by_tool(episode, speakers.speaker(caller), message)
                if not self._chat.stands(event):
                    yield self._chat.before(messages, config), message, event

    def _due(self, state: AgentState[Any]) -> _Due | None:
        """The answer that is about to stand; None where the model calls tools, or says nothing."""
        structured = state.get("structured_response") is not None
        messages = state["messages"]
        place = max((n for n, one in enumerate(messages) if isinstance(one, AIMessage)), default=-1)
        message = messages[place] if place >= 0 else None
        if not isinstance(message, AIMessage) or (message.tool_calls and not structured):
            return None
        if not message.content and not message.tool_calls:
            return None
        config = get_config()
        return _Due(
            self._chat.before(messages, config, place),
            message,
            self._chat.speakers.answer(self._chat.episode(config), message),
            # A rewrite is a text, and no value of the type that the caller asked for.
            None if structured else self._chat.rewriter,
            # A structured answer is told again by a tool message.
            [one.id for one in messages[place + 1 :] if isinstance(one, ToolMessage) and one.id],
        )


@dataclass(frozen=True)
class _Due:
    """An answer that is about to stand."""

    said: Iterator[Event]
    message: AIMessage
    event: Event
    rewriter: Rewriter | None
    repeated: list[str]

    def update(self, outcome: Outcome) -> Update | None:
        message = settled_message(self.message, outcome)
        if message is None:
            return None
        repeated = [RemoveMessage(one) for one in self.repeated]
        return {"messages": [message, *repeated], "structured_response": None}


def _ended(message: ToolMessage, outcome: Outcome) -> list[ToolMessage]:
    """What is to stand in the place of a result that a run ends with; nothing where it stands."""
    if outcome.released and not outcome.rewritten:
        return []
    metadata = {MARK: note(outcome.verdicts[-1], rewritten=outcome.rewritten)}
    # Nothing else of the result is left: artifacts and blocks would tell what it said.
    return [
        ToolMessage(
            outcome.text,
            id=message.id,
            name=message.name,
            tool_call_id=message.tool_call_id,
            response_metadata=metadata,
        )
    ]
