"""Items of a model's input, as the OpenAI Agents SDK hands them on, as a guard's events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fglguard.corpora.fields import call_text, digest
from fglguard.episode_rules import AgentKind
from fglguard.events import Event
from fglguard.integrations.content import content_text
from fglguard.integrations.gate import CALL_REFUSED

Item = Mapping[str, Any]


class History:
    """What was said in one conversation, and by whom, which its items do not tell.

    Messages have no ids that last, so the n-th message of a speaker with the same text is the same
    message. A call and its result have the call's id.

    Args:
        episode: Id of the conversation.
        agents: Names of the agents; the first says what nobody else is known to have said.
        user: Id of the user.
    """

    def __init__(self, episode: str, agents: tuple[str, ...], user: str) -> None:
        self._episode = episode
        self._agents = agents
        self._user = user
        self._speakers: dict[str, str] = {}
        self._tools: dict[str, str] = {}

    def events(self, items: Sequence[Any]) -> Iterator[Event]:
        """What was said, in order; system prompts, reasoning and refused calls are no part of it.

        Raises:
            EpisodeError: An item can't be an event.
        """
        seen: Counter[tuple[str, str]] = Counter()
        refused = {
            one["call_id"]
            for one in items
            if one.get("type") == "function_call_output" and one.get("output") == CALL_REFUSED
        }
        for item in items:
            if item.get("role") in ("user", "assistant"):
                yield from self._message(item, seen)
            elif item.get("type") == "function_call" and item["call_id"] not in refused:
                speaker = self._speakers.get(item["call_id"], self._agents[0])
                yield self.call(speaker, item["name"], item["arguments"], item["call_id"])
            elif item.get("type") == "function_call_output" and item["call_id"] not in refused:
                yield self.result(item["call_id"], item["output"])

    def answer(self, agent: str, output: Any, said: Sequence[Any]) -> Event:
        """What an agent is about to answer.

        Args:
            agent: Its name.
            output: A text, or a value of the agent's output type.
            said: The items before it.
        """
        text = output_text(output)
        before = sum(_text(one) == text for one in said if one.get("role") == "assistant")
        name = _name("assistant", text, before)
        self._speakers[name] = agent
        return self._say(agent, (self._user,), text, name)

    def call(self, agent: str, tool: str, arguments: Any, name: str) -> Event:
        """A call of a tool."""
        self._speakers[name] = agent
        self._tools[name] = f"tool:{tool}"
        return Event(
            self._episode,
            agent,
            call_text(tool, arguments),
            (f"tool:{tool}",),
            kind="call",
            agents=self._kinds(f"tool:{tool}"),
            id=name,
            tool=tool,
        )

    def result(self, name: str, output: Any) -> Event:
        """What came of a call, heard by all agents, as all of them read the same items."""
        tool = self._tools.get(name, "tool:unknown")
        text = output_text(output).strip() or "(no output)"
        return Event(
            self._episode,
            tool,
            text,
            self._agents,
            kind="result",
            agents=self._kinds(tool),
            id=f"{name}:{digest(text)}",
        )

    def _message(self, item: Item, seen: Counter[tuple[str, str]]) -> Iterator[Event]:
        role, text = item["role"], _text(item)
        if not text.strip():
            return
        name = _name(role, text, seen[role, text])
        seen[role, text] += 1
        if role == "user":
            yield self._say(self._user, self._agents, text, name)
        else:
            speaker = self._speakers.get(name, self._agents[0])
            yield self._say(speaker, (self._user,), text, name)

    def _say(self, sender: str, receivers: tuple[str, ...], text: str, name: str) -> Event:
        return Event(self._episode, sender, text, receivers, agents=self._kinds(), id=name)

    def _kinds(self, *tools: str) -> dict[str, AgentKind]:
        kinds: dict[str, AgentKind] = {self._user: "user"}
        return kinds | dict.fromkeys(self._agents, "agent") | dict.fromkeys(tools, "tool")


def output_text(output: Any) -> str:
    """A tool's result or an agent's output as a text: JSON where it is a value."""
    if isinstance(output, str):
        return output
    if hasattr(output, "model_dump_json"):
        return str(output.model_dump_json())
    if isinstance(output, list) and all(isinstance(one, dict) and "type" in one for one in output):
        return content_text(output)
    return json.dumps(output, default=str, ensure_ascii=False)


def _text(item: Item) -> str:
    return content_text(item.get("content"), of_agent=item.get("role") == "assistant")


def _name(role: str, text: str, number: int) -> str:
    return f"{role}:{digest(text)}:{number}"
