"""Spans of OTLP JSON: an `ExportTraceServiceRequest`, or a `TracesData`, which looks the same."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from fglguard.corpora.fields import as_kind, required
from fglguard.corpora.reading import Source
from fglguard.errors import CorpusError, shown
from fglguard.traces import conventions as names
from fglguard.traces.values import Value, attributes_of

Operation = Literal["agent", "model", "tool", "other"]
Key = tuple[str, str]

_OPENINFERENCE: dict[str, Operation] = {"AGENT": "agent", "LLM": "model", "TOOL": "tool"}


@dataclass(frozen=True, slots=True)
class Span:
    """A finished span.

    Attributes:
        trace: Trace id as it is written.
        id: Span id as it is written.
        parent: Id of its parent in the trace; empty for a root.
        start: Nanoseconds since 1970.
        end: The same, not before `start`.
        attributes: Its attributes.
        resource: Those of its resource.
        source: File and record that it stands in.
        place: Its place in the record.
    """

    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Value]
    resource: dict[str, Value]
    source: Source = field(compare=False)
    place: str = field(compare=False)

    @property
    def key(self) -> Key:
        """Trace and span id."""
        return self.trace, self.id

    @property
    def where(self) -> str:
        """Where it stands, for a problem."""
        return f"{self.source}: span {shown(self.id)} of trace {shown(self.trace)}"

    def text(self, name: str) -> str | None:
        """An attribute that is a text which is not empty, else None."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) and value.strip() else None

    @property
    def operation(self) -> Operation:
        """What ran: by `gen_ai.operation.name`, or where that is absent by OpenInference's kind."""
        operation = self.text(names.GEN_AI_OPERATION)
        if operation is None:
            return _OPENINFERENCE.get(self.text(names.OPENINFERENCE_KIND) or "", "other")
        if operation == names.INVOKE_AGENT:
            return "agent"
        if operation == names.EXECUTE_TOOL:
            return "tool"
        return "model" if operation in names.INFERENCE else "other"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A span that is none, and the trace that misses it, where that can be told."""

    trace: str | None
    where: str
    message: str


def spans_of(record: Any, source: Source) -> Iterator[Span | Unreadable]:
    """Every span of a record.

    Raises:
        CorpusError: The record is not OTLP JSON; the text names the key.
    """
    record = as_kind(record, dict, "record")
    for number, group in enumerate(required(record, "resourceSpans", list)):
        where = f"resourceSpans[{number}]"
        group = as_kind(group, dict, where)
        resource = as_kind(group.get("resource") or {}, dict, f"{where}.resource")
        shared = attributes_of(resource.get("attributes"), f"{where}.resource.attributes")
        scopes = as_kind(group.get("scopeSpans") or [], list, f"{where}.scopeSpans")
        for place, scope in enumerate(scopes):
            inside = f"{where}.scopeSpans[{place}]"
            spans = as_kind(scope, dict, inside).get("spans") or []
            for index, span in enumerate(as_kind(spans, list, f"{inside}.spans")):
                yield _attempt(span, shared, source, f"{inside}.spans[{index}]")


def _attempt(
    record: Any, resource: dict[str, Value], source: Source, place: str
) -> Span | Unreadable:
    try:
        return _span(as_kind(record, dict, place), resource, source, place)
    except CorpusError as error:
        trace = record.get("traceId") if isinstance(record, dict) else None
        known = trace if isinstance(trace, str) and trace else None
        return Unreadable(known, str(source), str(error))


def _span(record: dict[str, Any], resource: dict[str, Value], source: Source, place: str) -> Span:
    start = _time(record, "startTimeUnixNano", place)
    end = _time(record, "endTimeUnixNano", place)
    if end < start:
        raise CorpusError(f"{place}.endTimeUnixNano: expected a time not before the start")
    return Span(
        trace=_id(record, "traceId", place),
        id=_id(record, "spanId", place),
        parent=as_kind(record.get("parentSpanId") or "", str, f"{place}.parentSpanId"),
        start=start,
        end=end,
        attributes=attributes_of(record.get("attributes"), f"{place}.attributes"),
        resource=resource,
        source=source,
        place=place,
    )


def _id(record: dict[str, Any], key: str, place: str) -> str:
    value = required(record, key, str, f"{place}.")
    if not value or len(value) > 64:
        raise CorpusError(f"{place}.{key}: expected an id, got {shown(value)}")
    return value


def _time(record: dict[str, Any], key: str, place: str) -> int:
    value = record.get(key)
    number = -1
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and len(value) <= 20 and value.isascii() and value.isdigit():
        number = int(value)
    if not 0 < number < 2**64:
        raise CorpusError(f"{place}.{key}: expected nanoseconds since 1970, got {shown(value)}")
    return number
