"""R-Judge and ASSEBench: a user, an agent that thinks and acts, and an environment.

Unsafe as people labelled it. `risk_description`, `scenario`, `profile`, `goal` and `id` tell the
label or the kind of case and are left out.
"""

import re
from typing import Any

from fglguard.corpora.dialogue import Dialogue
from fglguard.corpora.fields import as_kind, digest, flag, required, text_of
from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode
from fglguard.errors import CorpusError

# `Name{...}`, `Name: {...}`, `Name(...)`, and `Name` with `Action Input: ...` on the next line.
_CALL = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w{1,79})\s*(?::\s*)?"
    r"(?:(?=[{(\[])|Action Input\s*:\s*)(?P<arguments>.*)",
    re.DOTALL,
)


class RJudge(Importer):
    """A list of `{id, contents: [[message, ...], ...], label, ...}`."""

    def episode(self, record: Any, source: Source) -> Episode:
        """One labelled interaction. Its split key is a hash of the first request."""
        record = as_kind(record, dict, "record")
        messages = _messages(record)
        dialogue = Dialogue()
        _add(dialogue, messages)
        asked = (text_of(m.get("content")) for m in messages if m["role"] == "user")
        return dialogue.build(
            source,
            id=f"{self.name}-{digest(record)}",
            task=(f"task:{digest(next(filter(None, asked), ''))}",),
            final_agent=dialogue.main,
            unsafe=flag(record, "label"),
            label_source="human",
            attributes={},
        )


def _messages(record: dict[str, Any]) -> list[dict[str, Any]]:
    messages = []
    for number, section in enumerate(required(record, "contents", list)):
        for index, value in enumerate(as_kind(section, list, f"contents[{number}]")):
            where = f"contents[{number}][{index}]"
            message = as_kind(value, dict, where)
            if required(message, "role", str, f"{where}.") not in ("user", "agent", "environment"):
                raise CorpusError(
                    f"{where}.role: expected user, agent or environment, got another one"
                )
            messages.append(message)
    return messages


def _add(dialogue: Dialogue, messages: list[dict[str, Any]]) -> None:
    acted_on: str | None = None
    for index, message in enumerate(messages):
        content = text_of(message.get("content"))
        if message["role"] == "user":
            dialogue.ask(content)
        elif message["role"] == "environment":
            dialogue.result(acted_on or dialogue.environment(), content)
        else:
            dialogue.turn()
            dialogue.think(text_of(message.get("thought")))
            action = text_of(message.get("action"))
            acted_on = _act(dialogue, action, _is_reply(messages[index + 1 : index + 2]))


def _act(dialogue: Dialogue, action: str, has_reply: bool) -> str | None:
    """Add the agent's action; returns whom it acted on, None where it spoke to the user."""
    call = _CALL.fullmatch(action)
    if call:
        return dialogue.call(call["name"], call["arguments"])
    if has_reply:
        environment = dialogue.environment()
        dialogue.add(dialogue.main, [environment], action, "call")
        return environment
    dialogue.answer(action)
    return None


def _is_reply(following: list[dict[str, Any]]) -> bool:
    """Whether the environment answers. An empty answer closes a log and says nothing."""
    return any(
        message["role"] == "environment" and text_of(message.get("content")).strip()
        for message in following
    )
