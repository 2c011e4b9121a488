"""Real OTLP: spans made by OpenTelemetry's SDK, encoded by its protobuf messages."""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import set_span_in_context


class Recorder:
    """An agent system's tracer with a clock that moves one second at every start and end."""

    def __init__(self, **resource: Any) -> None:
        self._memory = InMemorySpanExporter()
        provider = TracerProvider(resource=Resource(resource), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self._tracer = provider.get_tracer("agents")
        self._context: list[Any] = [None]
        self.now = 1_700_000_000

    def _tick(self) -> int:
        self.now += 1
        return self.now * 10**9

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, Any] | None = None) -> Iterator[Any]:
        span = self._tracer.start_span(
            name, context=self._context[-1], attributes=attributes, start_time=self._tick()
        )
        self._context.append(set_span_in_context(span))
        try:
            yield span
        finally:
            self._context.pop()
            span.end(end_time=self._tick())

    def request(self) -> dict[str, Any]:
        """Every span so far as OTLP JSON: children first, as the SDK exports them."""
        return exported(self._memory.get_finished_spans())


def exported(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """An ExportTraceServiceRequest of the spans as OTLP JSON, which has ids in hex."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.extend(pairs(spans[0].resource.attributes))
    scope = group.scope_spans.add()
    for span in spans:
        scope.spans.add(
            trace_id=span.context.trace_id.to_bytes(16, "big"),
            span_id=span.context.span_id.to_bytes(8, "big"),
            parent_span_id=span.parent.span_id.to_bytes(8, "big") if span.parent else b"",
            name=span.name,
            start_time_unix_nano=span.start_time,
            end_time_unix_nano=span.end_time,
            attributes=pairs(span.attributes),
        )
    record: dict[str, Any] = MessageToDict(request)
    for span in spans_in(record):
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span:
                span[key] = base64.b64decode(span[key]).hex()
    return record


def pairs(attributes: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def any_value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    found = AnyValue()
    found.array_value.values.extend(any_value(item) for item in value)
    return found


def spans_in(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The spans of a request."""
    return [
        span
        for group in record["resourceSpans"]
        for scope in group["scopeSpans"]
        for span in scope["spans"]
    ]


@pytest.fixture
def recorder() -> Callable[..., Recorder]:
    return Recorder


@pytest.fixture
def inside() -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    return spans_in
