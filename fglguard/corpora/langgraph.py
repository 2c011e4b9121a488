"""LangGraph message logs: what `messages_to_dict`, `dumpd` or `model_dump` give of the state.

The state's messages are one list that every node reads: who hears a message is who speaks next,
and after the last one the user. A tool's result is heard by its caller as well. System prompts
are left out: they tell the setting, not what happened in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fglguard.corpora.annotations import Annotations
from fglguard.corpora.conversation import USER, Conversation
from fglguard.corpora.fields import as_kind, required, text_of
from fglguard.corpora.message_log import MessageLog
from fglguard.errors import CorpusError, shown
from fglguard.traces import conventions as names

_SPEAKERS = ("human", "ai", "tool")
_SILENT = ("system", "remove")


@dataclass(frozen=True, slots=True)
class _Message:
    where: str
    type: str
    name: str | None
    fields: Mapping[str, Any]

    @property
    def text(self) -> str:
        return text_of(self.fields.get("content"))


class LangGraph(MessageLog):
    """Messages of types human, ai and tool; an ai message's `name` is its agent."""

    def converse(
        self,
        conversation: Conversation,
        messages: list[tuple[int, dict[str, Any]]],
        told: Annotations,
    ) -> None:
        """Put the messages into the conversation."""
        parsed = [_parsed(message, f"messages[{index}]") for index, message in messages]
        parsed = [message for message in parsed if message.type not in _SILENT]
        agents = {m.name for m in parsed if m.type == "ai" and m.name} | set(told.agents)
        speakers = [_speaker(message, agents, told.agent) for message in parsed]
        callers: dict[str, tuple[str, str]] = {}
        for place, message in enumerate(parsed):
            hears = _next_speaker(speakers, place)
            speaker = speakers[place]
            if speaker is None:
                _add_result(conversation, message, callers, hears)
                continue
            sender = _registered(conversation, speaker)
            conversation.say(sender, [_registered(conversation, hears)], message.text)
            _add_calls(conversation, message, sender, callers)


def _parsed(record: dict[str, Any], where: str) -> _Message:
    """A message of any of the three forms: `{type, data}`, `{lc, id, kwargs}`, or flat."""
    if "lc" in record:
        fields = required(record, "kwargs", dict, f"{where}.")
    else:
        fields = record.get("data", record)
        fields = {"type": record.get("type")} | as_kind(fields, dict, f"{where}.data")
    kind = required(fields, "type", str, f"{where}.")
    kind = {"AIMessageChunk": "ai", "HumanMessageChunk": "human", "ToolMessageChunk": "tool"}.get(
        kind, kind
    )
    if kind not in _SPEAKERS + _SILENT:
        raise CorpusError(
            f"{where}.type: expected one of {', '.join(_SPEAKERS + _SILENT)}, got {shown(kind)}"
        )
    name = fields.get("name")
    return _Message(where, kind, name if isinstance(name, str) and name.strip() else None, fields)


def _speaker(message: _Message, agents: set[str], unnamed: str | None) -> str | None:
    """Agent or user that a message is from; None for a tool's result."""
    if message.type == "tool":
        return None
    if message.type == "human":
        # Frameworks pass an agent's report on as a human message under the agent's name.
        return message.name if message.name in agents else USER
    speaker = message.name or unnamed
    if speaker is None:
        raise CorpusError(
            f"{message.where}.name: expected the agent's name, there is none; {names.AGENT} "
            "names the agent of such messages"
        )
    return speaker


def _next_speaker(speakers: Sequence[str | None], place: int) -> str:
    for speaker in speakers[place + 1 :]:
        if speaker is not None and speaker != speakers[place]:
            return speaker
    return USER


def _registered(conversation: Conversation, name: str) -> str:
    return USER if name == USER else conversation.member(name)


def _add_calls(
    conversation: Conversation, message: _Message, sender: str, callers: dict[str, tuple[str, str]]
) -> None:
    calls = as_kind(message.fields.get("tool_calls") or [], list, f"{message.where}.tool_calls")
    for index, item in enumerate(calls):
        where = f"{message.where}.tool_calls[{index}]."
        call = as_kind(item, dict, where.rstrip("."))
        function = required(call, "name", str, where)
        conversation.call(sender, function, call.get("args"))
        if isinstance(call.get("id"), str):
            callers[call["id"]] = (sender, function)


def _add_result(
    conversation: Conversation,
    message: _Message,
    callers: Mapping[str, tuple[str, str]],
    hears: str,
) -> None:
    identity = required(message.fields, "tool_call_id", str, f"{message.where}.")
    if identity not in callers:
        raise CorpusError(
            f"{message.where}.tool_call_id: expected the id of a call made before, "
            f"got {shown(identity)}"
        )
    caller, function = callers[identity]
    receivers = [caller] if hears == USER else [caller, conversation.member(hears)]
    conversation.say(conversation.tool(function), receivers, message.text, "result")
