"""LangChain's messages as a guard's events."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fglguard.corpora.fields import call_text
from fglguard.episode_rules import AgentKind
from fglguard.errors import EpisodeError, shown
from fglguard.events import Event
from fglguard.integrations.content import content_text
from fglguard.integrations.gate import CALL_REFUSED
from fglguard.integrations.packages import missing_package

try:
    from langchain_core.messages import (
        AIMessage,
        AnyMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        ToolCall,
        ToolMessage,
    )
except ImportError as error:
    raise missing_package("langchain-core", "fglguard[agents]") from error

CONTEXT = "context"
"""Id of what puts summaries and the like among the user's messages."""
MARK = "fglguard"
"""Key of `response_metadata` under which a message tells what the guard did about it."""


@dataclass(frozen=True)
class Speakers:
    """Who takes part in a conversation, and who hears whom.

    A message's speaker is its `name`. A result of a tool is heard by the agent that called it.
    Human messages that a framework made, such as a summary of what was said (LangChain marks them
    with `lc_source`), are no words of the user's: their speaker is the environment `context`.

    Attributes:
        hears: Ids of those that hear it, by the id of each speaker; the user's too.
        user: Id of the user, who says the human messages without a name.
        agent: Id of the agent that says the AI messages whose name is not in `hears`. None: those
            are errors.
    """

    hears: Mapping[str, Sequence[str]]
    user: str = "user"
    agent: str | None = None

    def events(
        self, messages: Sequence[AnyMessage], episode: str, awaiting: Container[int] = ()
    ) -> Iterator[Event]:
        """What was said, in order. System prompts are the setting, and no part of it.

        A tool call counts as made once its result is there. The ids that models give calls may
        begin anew with each of their messages, so that a call is known by its message's too.

        Args:
            messages: A conversation's.
            episode: Its id.
            awaiting: Places of messages of agents that have not been checked yet.

        Raises:
            EpisodeError: A speaker is unknown, a result belongs to no call, a message is of a kind
                that is not known here, or has no id: it would be taken in again with every step.
        """
        done = _answered(messages)
        calls: dict[str, tuple[Event, str]] = {}
        for place, message in enumerate(messages):
            if isinstance(message, HumanMessage | AIMessage):
                speaker = self.speaker(message)
                text = content_text(message.content, of_agent=isinstance(message, AIMessage))
                if text.strip() and place not in awaiting:
                    yield self._say(episode, speaker, text, message)
                for call in message.tool_calls if isinstance(message, AIMessage) else ():
                    event = self.call(episode, speaker, message, call)
                    calls[str(call["id"])] = event, speaker
                    if (place, call["id"]) in done:
                        yield event
            elif isinstance(message, ToolMessage):
                if not refused(message):
                    yield self._result(calls, message)
            elif not isinstance(message, SystemMessage):
                raise EpisodeError(
                    f"message.type: expected human, ai, tool or system, got {shown(message.type)}"
                )

    def speaker(self, message: BaseMessage) -> str:
        """Id of who says a human or an AI message.

        Raises:
            EpisodeError: It has a name that nobody here has, or an agent's message the user's:
                whose words they are is not guessed.
        """
        human = isinstance(message, HumanMessage)
        if human and "lc_source" in message.additional_kwargs:
            return CONTEXT
        if message.name in self.hears and (human or message.name != self.user):
            return str(message.name)
        if human and message.name is None:
            return self.user
        if human or self.agent is None or message.name == self.user:
            raise EpisodeError(
                f"message.name: expected one of {', '.join(self.hears)} for a message of kind "
                f"{message.type}, got {shown(message.name)}"
            )
        return self.agent

    def answer(self, episode: str, message: AIMessage) -> Event:
        """What an AI message is about to say, the arguments of its calls included.

        With calls it is a structured answer. Its id is then one of its own, since the message's
        text by itself counts as said under the message's.
        """
        text = content_text(message.content, of_agent=True)
        event = self._say(episode, self.speaker(message), text, message)
        if not message.tool_calls:
            return event
        arguments = [call["args"] for call in message.tool_calls]
        told = [text, json.dumps(arguments, ensure_ascii=False)]
        whole = "\n".join(part for part in told if part.strip())
        return replace(event, text=whole, id=f"{message.id}:structured")

    def call(self, episode: str, speaker: str, message: BaseMessage, call: ToolCall) -> Event:
        """A call of a tool, in an agent's message."""
        tool = f"tool:{call['name']}"
        return Event(
            episode,
            speaker,
            call_text(call["name"], call["args"]),
            (tool,),
            kind="call",
            agents=self._kinds(tool),
            id=f"{_id_of(message)}:{call['id']}",
            tool=call["name"],
        )

    def told_by_tool(self, episode: str, speaker: str, message: ToolMessage) -> Event:
        """A tool's result that goes out as an agent's answer."""
        text = content_text(message.content).strip() or "(no output)"
        event = self._say(episode, speaker, text, message)
        return replace(event, id=f"{message.id}:answer")

    def _say(self, episode: str, speaker: str, text: str, message: BaseMessage) -> Event:
        receivers = tuple(self.hears.get(self.user if speaker == CONTEXT else speaker, ()))
        kinds = self._kinds()
        if speaker == CONTEXT:
            kinds[CONTEXT] = "environment"
        return Event(episode, speaker, text, receivers, agents=kinds, id=_id_of(message))

    def _result(self, calls: Mapping[str, tuple[Event, str]], message: ToolMessage) -> Event:
        if message.tool_call_id not in calls:
            raise EpisodeError("tool_call_id: expected that of a call before, got another one")
        call, caller = calls[message.tool_call_id]
        return Event(
            call.episode,
            call.receivers[0],
            content_text(message.content).strip() or "(no output)",
            (caller,),
            kind="result",
            agents=call.agents,
            id=f"{call.id}:result",
        )

    def _kinds(self, *tools: str) -> dict[str, AgentKind]:
        kinds: dict[str, AgentKind] = {}
        for name in (*self.hears, *(name for names in self.hears.values() for name in names)):
            kinds[name] = "user" if name == self.user else "agent"
        return kinds | dict.fromkeys(tools, "tool")


def _id_of(message: BaseMessage) -> str:
    if message.id is None:
        raise EpisodeError(
            "message.id: expected an id, got none; the reducer `add_messages` gives them"
        )
    return message.id


def _answered(messages: Sequence[AnyMessage]) -> set[tuple[int, str | None]]:
    """Calls that have a result, by their message's place and their id.

    Of two of one id it is the last one's that was made before.
    """
    latest: dict[str | None, int] = {}
    done: set[tuple[int, str | None]] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            latest |= {call["id"]: place for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and not refused(message):
            done.add((latest.get(message.tool_call_id, -1), message.tool_call_id))
    return done


def refused(message: ToolMessage) -> bool:
    """Whether it is the guard's, in the place of a result: the tool did not run."""
    own = message.status == "error" and MARK in message.response_metadata
    # A tool may mark what it returns as it likes; these words alone tell nobody anything.
    return own and message.content == CALL_REFUSED


def replacement(message: AIMessage, text: str, note: Mapping[str, Any]) -> AIMessage:
    """What stands in a message's place: nothing of it is left but its id and its speaker."""
    return AIMessage(text, id=message.id, name=message.name, response_metadata={MARK: dict(note)})
