"""AutoGen message logs: what `model_dump` gives of AgentChat's messages and events.

A team publishes each chat message to every participant, and whoever runs it sees them all: the
others and the user hear it. A handoff is heard by its target. Events stay with their agent.
"""

import json
from collections.abc import Mapping
from typing import Any

from fglguard.corpora.annotations import Annotations
from fglguard.corpora.conversation import USER, Conversation
from fglguard.corpora.fields import as_kind, required, text_of
from fglguard.corpora.message_log import MessageLog
from fglguard.errors import CorpusError, shown

_CHAT = ("TextMessage", "MultiModalMessage", "StopMessage", "ToolCallSummaryMessage")
_STRUCTURED = "StructuredMessage"
_INPUT_REQUESTED = "UserInputRequestedEvent"
_BOOKKEEPING = (
    _INPUT_REQUESTED,
    "ModelClientStreamingChunkEvent",
    "SelectSpeakerEvent",
    "SelectorEvent",
)
_EVENTS = (
    "HandoffMessage",
    "ToolCallRequestEvent",
    "ToolCallExecutionEvent",
    "ThoughtEvent",
    "CodeGenerationEvent",
    "CodeExecutionEvent",
    "MemoryQueryEvent",
)


class AutoGen(MessageLog):
    """Records of `{type, source, content, ...}`; `source` is the agent."""

    def converse(
        self,
        conversation: Conversation,
        messages: list[tuple[int, dict[str, Any]]],
        told: Annotations,
    ) -> None:
        """Put the messages into the conversation."""
        team = _Team(conversation, messages, told)
        for index, message in messages:
            team.add(message, f"messages[{index}].")


class _Team:
    """The participants, and who waits for which tool call."""

    def __init__(
        self,
        conversation: Conversation,
        messages: list[tuple[int, dict[str, Any]]],
        told: Annotations,
    ) -> None:
        self._conversation = conversation
        self._tools: dict[str, str] = {}
        self._members: dict[str, str] = {USER: USER}
        typed = [
            (_type(message, f"messages[{index}]."), _source(message, f"messages[{index}]."))
            for index, message in messages
        ]
        for kind, source in typed:
            if kind == _INPUT_REQUESTED and source != USER:
                self._members[source] = conversation.agent(source, "user")
        for name in (*(source for _, source in typed), *told.agents):
            if name not in self._members:
                self._members[name] = conversation.member(name)

    def add(self, message: dict[str, Any], where: str) -> None:
        kind = _type(message, where)
        sender = self._members[_source(message, where)]
        if kind in _CHAT or kind.startswith(_STRUCTURED):
            self._say(sender, self._members.values(), _content(message, where))
        elif kind == "HandoffMessage":
            self._say(sender, [self._target(message, where)], _content(message, where))
        elif kind == "ThoughtEvent":
            self._say(sender, [], _content(message, where))
        elif kind == "ToolCallRequestEvent":
            self._call(sender, message, where)
        elif kind == "ToolCallExecutionEvent":
            self._results(sender, message, where)
        elif kind == "CodeGenerationEvent":
            place = self._conversation.environment()
            self._conversation.say(sender, [place], _content(message, where), "call")
        elif kind not in _BOOKKEEPING:
            text = message.get("result") if kind == "CodeExecutionEvent" else message.get("content")
            if isinstance(text, dict):
                text = text.get("output")
            self._conversation.say(
                self._conversation.environment(), [sender], text_of(text), "result"
            )

    def _say(self, sender: str, receivers: Any, text: str) -> None:
        self._conversation.say(sender, receivers, text)

    def _target(self, message: Mapping[str, Any], where: str) -> str:
        target = required(message, "target", str, where)
        if target not in self._members:
            raise CorpusError(
                f"{where}target: expected a participant of the log or the user, "
                f"got {shown(target)}; fglguard.agents names silent ones"
            )
        return self._members[target]

    def _call(self, sender: str, message: Mapping[str, Any], where: str) -> None:
        for index, item in enumerate(required(message, "content", list, where)):
            place = f"{where}content[{index}]"
            call = as_kind(item, dict, place)
            function = required(call, "name", str, f"{place}.")
            self._conversation.call(sender, function, call.get("arguments"))
            self._tools[required(call, "id", str, f"{place}.")] = function

    def _results(self, receiver: str, message: Mapping[str, Any], where: str) -> None:
        for index, item in enumerate(required(message, "content", list, where)):
            place = f"{where}content[{index}]"
            result = as_kind(item, dict, place)
            identity = required(result, "call_id", str, f"{place}.")
            name = self._tools.get(identity) or result.get("name")
            if not isinstance(name, str):
                raise CorpusError(
                    f"{place}.call_id: expected the id of a call made before, got {shown(identity)}"
                )
            self._conversation.say(
                self._conversation.tool(name), [receiver], text_of(result.get("content")), "result"
            )


def _type(message: Mapping[str, Any], where: str) -> str:
    kind = required(message, "type", str, where)
    if kind not in (*_CHAT, *_EVENTS, *_BOOKKEEPING) and not kind.startswith(_STRUCTURED):
        raise CorpusError(
            f"{where}type: expected a message or an event of AgentChat, got {shown(kind)}"
        )
    return kind


def _source(message: Mapping[str, Any], where: str) -> str:
    return required(message, "source", str, where)


def _content(message: Mapping[str, Any], where: str) -> str:
    """A chat message's text; pictures have none, structured contents are JSON."""
    if "content" not in message:
        raise CorpusError(f"{where}content: expected a text or a list, it is missing")
    content = message["content"]
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    return text_of(content)
