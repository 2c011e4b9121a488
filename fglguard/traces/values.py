"""Attribute values as OTLP JSON writes them.

See the `AnyValue` of opentelemetry-proto, `common/v1/common.proto`, and its JSON mapping.
"""

from collections.abc import Mapping
from typing import Any

from fglguard.errors import CorpusError

Value = str | bool | int | float | list[Any] | dict[str, Any] | None


def attributes_of(pairs: Any, where: str) -> dict[str, Value]:
    """A list of `{key, value}` as a mapping; a missing list is an empty one.

    Raises:
        CorpusError: It is not such a list; the text names `where`.
    """
    if pairs is None:
        return {}
    if not isinstance(pairs, list):
        raise CorpusError(f"{where}: expected a list, got {type(pairs).__name__}")
    found: dict[str, Value] = {}
    for index, pair in enumerate(pairs):
        place = f"{where}[{index}]"
        if not isinstance(pair, dict) or not isinstance(pair.get("key"), str):
            raise CorpusError(f"{place}: expected an object with a text as key")
        found[pair["key"]] = decoded(pair.get("value"), place)
    return found


def decoded(value: Any, where: str) -> Value:
    """The Python value of an AnyValue.

    Raises:
        CorpusError: It is not an AnyValue; the text names `where`.
    """
    if value is None or value == {}:
        return None
    if not isinstance(value, dict) or len(value) != 1:
        raise CorpusError(f"{where}.value: expected an object with one of OTLP's kinds of values")
    ((kind, content),) = value.items()
    if kind in ("stringValue", "bytesValue") and isinstance(content, str):
        return content
    if kind == "boolValue" and isinstance(content, bool):
        return content
    if kind in ("intValue", "doubleValue"):
        return _number(kind, content, where)
    if kind == "arrayValue" and isinstance(content, dict):
        items = content.get("values") or []
        if isinstance(items, list):
            return [decoded(item, f"{where}[{place}]") for place, item in enumerate(items)]
    if kind == "kvlistValue" and isinstance(content, dict):
        return attributes_of(content.get("values"), where)
    raise CorpusError(f"{where}.value: expected one of OTLP's kinds of values")


def encoded(value: Value) -> dict[str, Any]:
    """The AnyValue of a Python value; integers become texts, as protobuf's JSON has them."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [encoded(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": encoded_attributes(value)}}
    return {}


def encoded_attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Attributes as OTLP JSON lists them; those that are None are left out."""
    return [
        {"key": key, "value": encoded(value)}
        for key, value in attributes.items()
        if value is not None
    ]


def _number(kind: str, content: Any, where: str) -> int | float:
    if not isinstance(content, bool) and isinstance(content, str | int | float):
        try:
            return int(content) if kind == "intValue" else float(content)
        except (ValueError, OverflowError):
            pass
    raise CorpusError(f"{where}.value.{kind}: expected a number")
