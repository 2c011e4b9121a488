import base64
import copy
import json
import math

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from fglguard.corpora.otlp.spans import Span, spans_of
from fglguard.corpora.reading import Source
from fglguard.errors import SettingsError
from fglguard.flow.taint import Taint
from fglguard.traces.guardrail_span import guardrail_span, trace_request
from tests.fglguard.test_verdict import verdict as any_verdict

TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
TAINT = Taint("a@b.example", "CANARY a@b.example", 0.5, 1, 2, ("tool", "agent"))


def verdict(**changes):
    return any_verdict(**{"taints": (TAINT,), **changes})


def span(one, **more):
    return guardrail_span(one, trace_id=TRACE, span_id=SPAN, end_ns=2_000_000_000, **more)


def parsed(record):
    """By opentelemetry-proto's own parser, to which ids are base64 as all of JSON's bytes."""
    record = copy.deepcopy(record)
    for one in record["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            one[key] = base64.b64encode(bytes.fromhex(one[key])).decode()
    request = Parse(json.dumps(record, allow_nan=False), ExportTraceServiceRequest())
    (found,) = request.resource_spans[0].scope_spans[0].spans
    return found


def values(pairs):
    return {pair.key: pair.value for pair in pairs}


def test_opentelemetry_reads_every_field():
    made = span(verdict(), parent_span_id=PARENT, conversation_id="conv-7", agent="agent")
    found = parsed(trace_request([made]))
    assert (found.trace_id.hex(), found.span_id.hex(), found.parent_span_id.hex()) == (
        TRACE,
        SPAN,
        PARENT,
    )
    assert (found.start_time_unix_nano, found.end_time_unix_nano) == (1_998_500_000, 2_000_000_000)
    said = values(found.attributes)
    assert said["openinference.span.kind"].string_value == "GUARDRAIL"
    assert said["gen_ai.conversation.id"].string_value == "conv-7"
    assert said["gen_ai.agent.name"].string_value == "agent"
    assert said["fglguard.verdict.decision"].string_value == "block"
    assert said["fglguard.verdict.corroborated_score"].double_value == 0.9
    assert said["fglguard.verdict.threshold"].double_value == 0.5
    scores = values(said["fglguard.verdict.agents"].kvlist_value.values)
    assert scores["tool"].double_value == 0.9
    (event,) = found.events
    assert event.name == "gen_ai.evaluation.result"
    assert values(event.attributes)["gen_ai.evaluation.score.label"].string_value == "block"
    assert found.status.code == found.status.STATUS_CODE_UNSET


def test_no_text_unless_asked():
    assert "CANARY" not in json.dumps(span(verdict()))
    (asked,) = [
        pair["value"]["stringValue"]
        for pair in span(verdict(), with_text=True)["attributes"]
        if pair["key"] == "fglguard.verdict.taints"
    ]
    assert json.loads(asked)[0]["span"] == "CANARY a@b.example"


def test_a_guards_own_failure_is_an_error_without_score():
    one = verdict(status="error", score=None, corroborated_score=None, threshold=math.inf)
    found = parsed(trace_request([span(one)]))
    assert found.status.code == found.status.STATUS_CODE_ERROR
    assert not found.events
    assert not {"fglguard.verdict.score", "fglguard.verdict.threshold"} & set(
        values(found.attributes)
    )


def test_the_importer_reads_it_as_a_span_that_is_nobodys_turn(tmp_path):
    (found,) = spans_of(trace_request([span(verdict())]), Source(tmp_path, tmp_path, "", ""))
    assert isinstance(found, Span)
    assert found.operation == "other"


@pytest.mark.parametrize(
    "wrong",
    [{"trace_id": "x"}, {"span_id": "0" * 16}, {"parent_span_id": "B" * 16}, {"trace_id": SPAN}],
)
def test_ids_of_another_form_are_refused(wrong):
    (name,) = wrong
    given = {"trace_id": TRACE, "span_id": SPAN, "end_ns": 1, **wrong}
    with pytest.raises(SettingsError, match=f"{name}: expected"):
        guardrail_span(verdict(), **given)
