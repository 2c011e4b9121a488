"""A guard as an intervention handler of AutoGen's agent runtime."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fglguard.corpora.fields import call_text
from fglguard.episode_rules import AgentKind
from fglguard.errors import EpisodeError
from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.integrations.gate import Gate, OnVerdict
from fglguard.integrations.packages import missing_package

try:
    from autogen_core import AgentId, DropMessage, FunctionCall, MessageContext
    from autogen_core.models import FunctionExecutionResult
    from pydantic import BaseModel
except ImportError as error:
    raise missing_package("autogen_core", "autogen-core>=0.7") from error

TextOf = Callable[[Any], str | None]


class GuardHandler:
    """Takes in what agents send each other, and drops calls and answers that are held back.

    It is an AutoGen `InterventionHandler`: give it to `SingleThreadedAgentRuntime`. Checked are
    calls of tools (every `FunctionCall` that is sent, published or given back, also within another
    message), and what agents of `answers` send, publish or respond. AutoGen then raises
    `MessageDroppedException` where the sender waits for a reply, and the message is gone where it
    does not; there is no rewrite. A message that can't be taken in is held back likewise, unless
    the policy's `on_error` is `allow`.

    Args:
        guard: The guard; its policy should have `calls=True`.
        episode: Id of the conversation that the runtime serves.
        agents: Types of the agents that take part. Published messages are heard by all the others.
        answers: Those of them whose messages go out.
        user: Id of whoever sends messages from outside of the runtime.
        text_of: The text of a message; None for one that says nothing. By default a text itself, a
            `content` that is one, else the fields of a dataclass as JSON.
        on_verdict: Told of every verdict.
    """

    def __init__(
        self,
        guard: Guard,
        episode: str,
        agents: Sequence[str],
        *,
        answers: Sequence[str],
        user: str = "user",
        text_of: TextOf | None = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        self._gate = Gate(guard, on_verdict)
        self._episode = episode
        self._agents = tuple(agents)
        self._answers = frozenset(answers)
        self._user = user
        self._text_of = text_of or message_text
        self._calls: dict[str, tuple[str, str]] = {}
        self._told: set[str] = set()

    async def on_send(
        self, message: Any, *, message_context: MessageContext, recipient: AgentId
    ) -> Any:
        """What is sent to one agent; a call of a tool is checked before the tool runs."""
        sender = self._name(message_context.sender)
        return await self._passed(message, sender, (recipient.type,))

    async def on_publish(self, message: Any, *, message_context: MessageContext) -> Any:
        """What is published, heard by all the other agents."""
        sender = self._name(message_context.sender)
        others = tuple(agent for agent in self._agents if agent != sender)
        return await self._passed(message, sender, others)

    async def on_response(self, message: Any, *, sender: AgentId, recipient: AgentId | None) -> Any:
        """What an agent gives back; of a tool, what came of a call."""
        if isinstance(message, FunctionExecutionResult):
            return await self._observed(message, self._result(message))
        return await self._passed(message, sender.type, (self._name(recipient),))

    async def _passed(self, message: Any, sender: str, receivers: tuple[str, ...]) -> Any:
        for call in calls_in(message):
            if not await self._may_call(sender, call, call is message):
                return DropMessage
        text = None if isinstance(message, FunctionCall) else self._text_of(message)
        if text is None or not text.strip():
            return message
        event = Event(
            self._episode, sender, text, receivers, agents=self._kinds((sender, *receivers))
        )
        if sender in self._answers:
            return await self._checked(message, event)
        return await self._observed(message, event)

    async def _may_call(self, sender: str, call: FunctionCall, made: bool) -> bool:
        """Whether a call passes: one that was told in a message is made once without a check.

        Args:
            sender: Who makes the call, or tells of it.
            call: The call.
            made: Whether it is made by this message, not told within it.
        """
        self._calls[call.id] = sender, call.name
        event = self._call(sender, call)
        if self._gate.guard.was_let_out(event) and (not made or call.id in self._told):
            if made:
                self._told.remove(call.id)
            return True
        if (await self._gate.acheck((), event)).blocked:
            return False
        if not made:
            self._told.add(call.id)
        return True

    async def _checked(self, message: Any, event: Event) -> Any:
        verdict = await self._gate.acheck((), event)
        return DropMessage if verdict.blocked else message

    async def _observed(self, message: Any, event: Event) -> Any:
        error = await self._gate.aobserve([event])
        if error is None:
            return message
        if not self._gate.failure(event, error).blocked:
            return message
        # It reaches nobody, so that nothing that anybody read is missing.
        await self._gate.awithheld(event, error)
        return DropMessage

    def _call(self, sender: str, call: FunctionCall) -> Event:
        tool = f"tool:{call.name}"
        return Event(
            self._episode,
            sender,
            call_text(call.name, call.arguments),
            (tool,),
            kind="call",
            agents={**self._kinds((sender,)), tool: "tool"},
            id=call.id,
            tool=call.name,
        )

    def _result(self, result: FunctionExecutionResult) -> Event:
        caller, name = self._calls.get(result.call_id, (self._user, result.name))
        tool = f"tool:{name}"
        return Event(
            self._episode,
            tool,
            result.content.strip() or "(no output)",
            (caller,),
            kind="result",
            agents={**self._kinds((caller,)), tool: "tool"},
            id=f"{result.call_id}:result",
        )

    def _name(self, agent: AgentId | None) -> str:
        return self._user if agent is None else str(agent.type)

    def _kinds(self, names: Sequence[str]) -> Mapping[str, AgentKind]:
        return {name: "user" if name == self._user else "agent" for name in names}


def calls_in(message: Any, depth: int = 8) -> Iterator[FunctionCall]:
    """Every call of a tool in a message: itself, or in its fields, lists and mappings.

    Raises:
        EpisodeError: It holds others to more than `depth` levels: what is in there is not known.
    """
    if isinstance(message, FunctionCall):
        yield message
        return
    if isinstance(message, Mapping):
        inner: Iterable[Any] = message.values()
    elif isinstance(message, list | tuple | set | frozenset):
        inner = message
    elif isinstance(message, BaseModel):
        inner = [value for _, value in message]
    elif dataclasses.is_dataclass(message) and not isinstance(message, type):
        inner = [getattr(message, field.name) for field in dataclasses.fields(message)]
    else:
        return
    if not depth:
        raise EpisodeError("message: expected at most 8 levels of fields, got more")
    for one in inner:
        yield from calls_in(one, depth - 1)


def message_text(message: Any) -> str | None:
    """The text of a message; None for an empty response, or a message without any field.

    Raises:
        EpisodeError: It is neither a text, nor has one, nor a dataclass.
    """
    if message is None:
        return None
    content = message if isinstance(message, str) else getattr(message, "content", None)
    if isinstance(content, str):
        return content
    if hasattr(message, "model_dump_json"):
        return str(message.model_dump_json())
    if not dataclasses.is_dataclass(message) or isinstance(message, type):
        raise EpisodeError(
            "message: expected a text, a `content` or a dataclass, got a "
            f"{type(message).__name__}; give the handler a function `text_of`"
        )
    fields = dataclasses.asdict(message)
    return json.dumps(fields, default=str, ensure_ascii=False) if fields else None
