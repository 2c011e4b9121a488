"""Messages to and from a model, as spans' attributes hold them.

GenAI: `gen_ai.input.messages` and `gen_ai.output.messages`, JSON or structured, a list of
`{role, name?, parts: [{type: text | reasoning | tool_call | tool_call_response, ...}]}`.
OpenInference: `llm.input_messages.N.message.*` and `llm.output_messages.N.message.*`, flattened.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fglguard.corpora.fields import as_kind, required, text_of
from fglguard.corpora.otlp.spans import Span
from fglguard.errors import CorpusError
from fglguard.traces import conventions as names
from fglguard.traces.values import Value

Role = Literal["system", "user", "assistant", "tool"]
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model asked for."""

    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result that a model was given."""

    id: str | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message. `thought` is reasoning that nobody but its author reads."""

    role: Role
    name: str | None = None
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


def input_messages(span: Span) -> list[ChatMessage]:
    """What a model or an agent was given.

    Raises:
        CorpusError: The attribute is malformed; the text names the span and it.
    """
    return _of_span(span, names.GEN_AI_INPUT, names.LLM_INPUT)


def output_messages(span: Span) -> list[ChatMessage]:
    """What a model or an agent gave back; see `input_messages`."""
    return _of_span(span, names.GEN_AI_OUTPUT, names.LLM_OUTPUT)


def newest(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Those after the assistant's last message: a model is given the whole history every time."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant":
            return messages[index + 1 :]
    return messages


def _of_span(span: Span, gen_ai: str, flat: str) -> list[ChatMessage]:
    try:
        return _messages(span.attributes, gen_ai, flat)
    except CorpusError as error:
        raise CorpusError(f"{span.where}: {error}") from None


def _messages(attributes: Mapping[str, Value], gen_ai: str, flat: str) -> list[ChatMessage]:
    value = attributes.get(gen_ai)
    if value is None:
        return [_flat_message(*item) for item in _flat_items(attributes, flat).items()]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise CorpusError(f"{gen_ai}: expected a JSON list of messages") from None
    listed = as_kind(value, list, gen_ai)
    return [_message(item, f"{gen_ai}[{index}]") for index, item in enumerate(listed)]


def _role(value: Any, where: str) -> Role:
    role = _ROLES.get(value) if isinstance(value, str) else None
    if role is None:
        raise CorpusError(
            f"{where}: expected system, user, assistant or tool, got another role or none"
        )
    return role


def _message(value: Any, where: str) -> ChatMessage:
    record = as_kind(value, dict, where)
    said: dict[str, list[str]] = {"text": [], "reasoning": []}
    calls: list[Call] = []
    results: list[Result] = []
    for index, item in enumerate(required(record, "parts", list, f"{where}.")):
        place = f"{where}.parts[{index}]"
        part = as_kind(item, dict, place)
        kind = required(part, "type", str, f"{place}.")
        if kind in said:
            said[kind].append(required(part, "content", str, f"{place}."))
        elif kind == "tool_call":
            name = required(part, "name", str, f"{place}.")
            calls.append(Call(_known(part.get("id")), name, part.get("arguments")))
        elif kind == "tool_call_response":
            content = part.get("response", part.get("result"))
            results.append(Result(_known(part.get("id")), None, text_of(content)))
    return ChatMessage(
        _role(record.get("role"), f"{where}.role"),
        _known(record.get("name")),
        "\n".join(said["text"]),
        "\n".join(said["reasoning"]),
        tuple(calls),
        tuple(results),
    )


def _flat_items(attributes: Mapping[str, Value], prefix: str) -> dict[str, dict[str, Value]]:
    """Attributes of each message by `prefix.N`, in the order of N."""
    pattern = re.compile(rf"{re.escape(prefix)}\.(\d{{1,9}})\.message\.(.+)", re.DOTALL)
    found: dict[int, dict[str, Value]] = {}
    for key, value in attributes.items():
        match = pattern.fullmatch(key)
        if match:
            found.setdefault(int(match[1]), {})[match[2]] = value
    return {f"{prefix}.{number}": found[number] for number in sorted(found)}


def _flat_message(where: str, fields: Mapping[str, Value]) -> ChatMessage:
    role = _role(fields.get("role"), f"{where}.message.role")
    text = text_of(fields.get("content")) or "\n".join(
        text_of(value)
        for _, value in _numbered(fields, r"contents\.(\d{1,9})\.message_content\.text")
    )
    name = _known(fields.get("name"))
    if role == "tool":
        result = Result(_known(fields.get("tool_call_id")), name, text)
        return ChatMessage(role, name, results=(result,))
    calls = []
    for number, value in _numbered(fields, r"tool_calls\.(\d{1,9})\.tool_call\.function\.name"):
        call = f"tool_calls.{number}.tool_call"
        calls.append(
            Call(
                _known(fields.get(f"{call}.id")),
                as_kind(value, str, f"{where}.message.{call}.function.name"),
                fields.get(f"{call}.function.arguments"),
            )
        )
    return ChatMessage(role, name, text, calls=tuple(calls))


def _numbered(fields: Mapping[str, Value], pattern: str) -> list[tuple[str, Value]]:
    matches = ((re.fullmatch(pattern, key), value) for key, value in fields.items())
    found = [(match[1], value) for match, value in matches if match]
    return sorted(found, key=lambda pair: int(pair[0]))


def _known(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
