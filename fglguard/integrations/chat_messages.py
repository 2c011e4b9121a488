"""LangChain's messages as a guard's events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fglguard.corpora.fields import call_text, text_of
from fglguard.episode_rules import AgentKind
from fglguard.errors import EpisodeError, shown
from fglguard.events import Event
from fglguard.integrations.packages import missing_package

try:
    from langchain_core.messages import (
        AIMessage,
        AnyMessage,
        BaseMessage,
        HumanMessage,
        ToolCall,
        ToolMessage,
    )
except ImportError as error:
    raise missing_package("langchain-core", "fglguard[agents]") from error

MARK = "fglguard"
"""Key of `response_metadata` under which a message tells what the guard did about it."""


@dataclass(frozen=True)
class Speakers:
    """Who takes part in a conversation, and who hears whom.

    A message's speaker is its `name`. A result of a tool is heard by the agent that called it.

    Attributes:
        hears: Ids of those that hear it, by the id of each speaker; the user's too.
        user: Id of the user, who says the human messages that have no other speaker's name.
        agent: Id of the agent that says the AI messages whose name is not in `hears`. None: those
            are errors.
    """

    hears: Mapping[str, Sequence[str]]
    user: str = "user"
    agent: str | None = None

    def events(self, messages: Sequence[AnyMessage], episode: str) -> Iterator[Event]:
        """What was said, in order. System prompts are the setting, and no part of it.

        A tool call counts as made once its result is there.

        Raises:
            EpisodeError: A speaker is unknown, a result belongs to no call, or a message is none.
        """
        calls: dict[str, tuple[str, ToolCall]] = {}
        done = {m.tool_call_id for m in messages if isinstance(m, ToolMessage) and not refused(m)}
        for message in messages:
            if isinstance(message, HumanMessage | AIMessage):
                speaker = self.speaker(message)
                text = text_of(message.content)
                if text.strip():
                    yield self._say(episode, speaker, text, message)
                for call in message.tool_calls if isinstance(message, AIMessage) else ():
                    calls[str(call["id"])] = speaker, call
                    if call["id"] in done:
                        yield self.call(episode, speaker, call)
            elif isinstance(message, ToolMessage) and not refused(message):
                yield self._result(episode, calls, message)

    def speaker(self, message: BaseMessage) -> str:
        """Id of who says a human or an AI message."""
        if message.name is not None and message.name in self.hears:
            return message.name
        if isinstance(message, HumanMessage):
            return self.user
        if self.agent is None:
            raise EpisodeError(
                f"message.name: expected one of {', '.join(self.hears)}, got {shown(message.name)}"
            )
        return self.agent

    def answer(self, episode: str, message: AIMessage) -> Event:
        """What an AI message is about to say; of one without text, the arguments of its calls."""
        text = text_of(message.content)
        if not text.strip() and message.tool_calls:
            arguments = [call["args"] for call in message.tool_calls]
            text = json.dumps(arguments, ensure_ascii=False)
        return self._say(episode, self.speaker(message), text, message)

    def call(self, episode: str, speaker: str, call: ToolCall) -> Event:
        """A call of a tool."""
        tool = f"tool:{call['name']}"
        return Event(
            episode,
            speaker,
            call_text(call["name"], call["args"]),
            (tool,),
            kind="call",
            agents=self._kinds(tool),
            id=call["id"],
            tool=call["name"],
        )

    def _say(self, episode: str, speaker: str, text: str, message: BaseMessage) -> Event:
        receivers = tuple(self.hears.get(speaker, ()))
        return Event(episode, speaker, text, receivers, agents=self._kinds(), id=message.id)

    def _result(
        self, episode: str, calls: Mapping[str, tuple[str, ToolCall]], message: ToolMessage
    ) -> Event:
        if message.tool_call_id not in calls:
            raise EpisodeError("tool_call_id: expected that of a call before, got another one")
        caller, call = calls[message.tool_call_id]
        tool = f"tool:{call['name']}"
        return Event(
            episode,
            tool,
            text_of(message.content).strip() or "(no output)",
            (caller,),
            kind="result",
            agents=self._kinds(tool),
            id=f"{message.tool_call_id}:result",
        )

    def _kinds(self, *tools: str) -> dict[str, AgentKind]:
        kinds: dict[str, AgentKind] = {}
        for name in (*self.hears, *(name for names in self.hears.values() for name in names)):
            kinds[name] = "user" if name == self.user else "agent"
        return kinds | dict.fromkeys(tools, "tool")


def refused(message: ToolMessage) -> bool:
    """Whether it is the guard's, in the place of a result: the tool did not run."""
    return message.status == "error" and MARK in message.response_metadata


def replacement(message: AIMessage, text: str, note: Mapping[str, Any]) -> AIMessage:
    """What stands in a message's place: nothing of it is left but its id and its speaker."""
    return AIMessage(text, id=message.id, name=message.name, response_metadata={MARK: dict(note)})
