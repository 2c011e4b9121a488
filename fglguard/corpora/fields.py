"""Checked access to the fields of other people's records."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from fglguard.errors import CorpusError

Field = TypeVar("Field")
_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text", int: "a number"}


def as_kind(value: Any, kind: type[Field], where: str) -> Field:
    """The value, if it is of that JSON kind.

    Raises:
        CorpusError: It is not; the text names `where` and the two kinds, never the value.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CorpusError(f"{where}: expected {_NAMES[kind]}, got {type(value).__name__}")
    return value


def required(record: Mapping[str, Any], key: str, kind: type[Field], prefix: str = "") -> Field:
    """A field that must be there.

    Args:
        record: The object.
        key: The field's name.
        kind: dict, list, str or int.
        prefix: Path of the object within its record, e.g. `messages[3].`.

    Raises:
        CorpusError: It is missing or of another kind.
    """
    if key not in record:
        raise CorpusError(f"{prefix}{key}: expected {_NAMES[kind]}, it is missing")
    return as_kind(record[key], kind, f"{prefix}{key}")


def flag(record: Mapping[str, Any], key: str, prefix: str = "") -> bool:
    """A label: true or false, or 1 or 0."""
    value = record.get(key)
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    got = value if isinstance(value, int | float) or value is None else type(value).__name__
    raise CorpusError(f"{prefix}{key}: expected true, false, 1 or 0, got {got}")


def name_or_none(record: Mapping[str, Any], key: str) -> str | None:
    """An optional name; publishers write a missing one as null, "none" or an empty text."""
    value = record.get(key)
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none")):
        return None
    return as_kind(value, str, key)


def text_of(content: Any) -> str:
    """A message's content as text: a text, content blocks with `content` or `text`, or JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_block_text, content)))
    return json.dumps(content, ensure_ascii=False)


def call_text(function: str, arguments: Any) -> str:
    """A tool call as text: the function's name, a blank, its arguments as JSON.

    Arguments that come as a text are kept as they are, unless they are a JSON object themselves.
    """
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            return f"{function} {arguments.strip()}".strip()
        arguments = parsed
    return f"{function} {json.dumps(arguments or {}, ensure_ascii=False)}"


def digest(*parts: Any) -> str:
    """16 hex digits of the SHA-256 of some JSON values: a name that tells nothing."""
    content = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _block_text(block: Any) -> str:
    if isinstance(block, dict):
        for key in ("content", "text"):
            if key in block:
                return text_of(block[key])
        # A picture or another block without text.
        return ""
    return text_of(block)
