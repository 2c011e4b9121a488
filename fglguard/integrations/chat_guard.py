"""A guard around LangChain's messages: calls before the tool runs, answers before they stand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fglguard.errors import SettingsError
from fglguard.events import Event
from fglguard.integrations.chat_messages import MARK, Speakers, replacement
from fglguard.integrations.gate import CALL_REFUSED, Gate
from fglguard.integrations.packages import missing_package
from fglguard.integrations.rewriting import Rewriter
from fglguard.live.intervention import Outcome
from fglguard.verdict import Verdict

try:
    from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command
except ImportError as error:
    raise missing_package("langgraph", "fglguard[agents]") from error

EpisodeOf = Callable[[RunnableConfig], str]
"""The id of the episode that a run belongs to."""
ToolOutput = ToolMessage | Command[Any]


def thread_of(config: RunnableConfig) -> str:
    """The run's `thread_id`.

    Raises:
        SettingsError: It has none.
    """
    thread = config.get("configurable", {}).get("thread_id")
    if thread is None:
        raise SettingsError(
            "thread_id: expected one in the run's config (`configurable`), got none; give one for "
            "each conversation, or give the guard a function `episode`"
        )
    return str(thread)


@dataclass(frozen=True)
class ChatGuard:
    """What the agent middleware and the graph's nodes do alike.

    Attributes:
        gate: Asks the guard.
        speakers: Who says what to whom.
        episode: Gives the episode's id.
        rewriter: Asked for one rewrite of an answer that is held back.
        messages_key: Where a graph's state has its messages.
        checked_apart: Agents whose answers a node of their own checks.
    """

    gate: Gate
    speakers: Speakers
    episode: EpisodeOf = thread_of
    rewriter: Rewriter | None = None
    messages_key: str = "messages"
    checked_apart: set[str] = field(default_factory=set)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolOutput]
    ) -> ToolOutput:
        """Run a tool, unless its call is held back."""
        said, event = self._call(request)
        verdict = self.gate.check(said, event)
        return _refusal(request, verdict) if verdict.blocked else handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolOutput]]
    ) -> ToolOutput:
        """`wrap_tool_call`, without holding up the event loop."""
        said, event = self._call(request)
        verdict = await self.gate.acheck(said, event)
        return _refusal(request, verdict) if verdict.blocked else await handler(request)

    def before(
        self, messages: Sequence[AnyMessage], config: RunnableConfig, end: int | None = None
    ) -> Iterator[Event]:
        """What was said before, as events; a message that can't be one raises when it is reached.

        Args:
            messages: All messages of the conversation.
            config: The run's.
            end: Place of the first message that does not count.

        Raises:
            SettingsError: The run belongs to no episode.
        """
        episode = self.episode(config)
        awaiting = self._awaiting(messages, episode) if self.checked_apart else ()
        return self.speakers.events(messages[:end], episode, awaiting)

    def stands(self, event: Event) -> bool:
        """Whether an answer was settled before; the safe message tells nobody anything."""
        guard = self.gate.guard
        return event.text == guard.policy.safe_message or guard.was_let_out(event)

    def messages(self, state: Any) -> list[AnyMessage]:
        """A graph's messages, whatever its state is: a mapping, a model, or they themselves."""
        if isinstance(state, list):
            return state
        if isinstance(state, Mapping):
            return list(state[self.messages_key])
        return list(getattr(state, self.messages_key))

    def _awaiting(self, messages: Sequence[AnyMessage], episode: str) -> set[int]:
        """Answers that agents ended the messages with and that a node of their own will check.

        Those that ran side by side are checked in any order, and none is said before it is.
        """
        found = set()
        for place in range(len(messages) - 1, -1, -1):
            message = messages[place]
            if not isinstance(message, AIMessage):
                break
            if message.name not in self.checked_apart or message.tool_calls or not message.content:
                continue
            if not self.stands(self.speakers.answer(episode, message)):
                found.add(place)
        return found

    def _call(self, request: ToolCallRequest) -> tuple[Iterator[Event], Event]:
        config = request.runtime.config
        messages = self.messages(request.state)
        calling = position_of_call(messages, request.tool_call["id"])
        speaker = self.speakers.speaker(messages[calling])
        event = self.speakers.call(
            self.episode(config), speaker, messages[calling], request.tool_call
        )
        return self.before(messages, config, calling + 1), event


def position_of_call(messages: Sequence[AnyMessage], call_id: str | None) -> int:
    """Where the message stands that a tool call is in; the last message where none has it."""
    last = len(messages) - 1
    for place in range(last, -1, -1):
        message = messages[place]
        calls = message.tool_calls if isinstance(message, AIMessage) else ()
        if any(call["id"] == call_id for call in calls):
            return place
    return last


def settled_message(message: AIMessage, outcome: Outcome) -> AIMessage | None:
    """What is to stand in the place of an answer; None where the answer stands."""
    if outcome.released and not outcome.rewritten:
        return None
    return replacement(
        message, outcome.text, note(outcome.verdicts[-1], rewritten=outcome.rewritten)
    )


def note(verdict: Verdict, **more: Any) -> dict[str, Any]:
    """What a message tells of its verdict: nothing that was said."""
    record = {
        "decision": verdict.decision,
        "status": verdict.status,
        "score": verdict.corroborated_score,
    }
    return record | more


def _refusal(request: ToolCallRequest, verdict: Verdict) -> ToolMessage:
    return ToolMessage(
        CALL_REFUSED,
        tool_call_id=request.tool_call["id"] or "",
        name=request.tool_call["name"],
        status="error",
        response_metadata={MARK: note(verdict)},
    )
