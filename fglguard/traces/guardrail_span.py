"""A verdict as a span of OTLP JSON, for the trace of the run that it judged."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fglguard.errors import SettingsError, shown
from fglguard.traces import conventions as names
from fglguard.traces.values import Value, encoded_attributes
from fglguard.verdict import Verdict

_INTERNAL = 1
_STATUS_ERROR = 2
_SAID = (
    "episode_id",
    "decision",
    "status",
    "score",
    "corroborated_score",
    "threshold",
    "reason",
    "model_id",
    "calibration_id",
    "latency_ms",
)


def guardrail_span(
    verdict: Verdict,
    *,
    trace_id: str,
    span_id: str,
    end_ns: int,
    parent_span_id: str = "",
    conversation_id: str | None = None,
    agent: str | None = None,
    with_text: bool = False,
) -> dict[str, Any]:
    """The span of one verdict. It quotes no agent unless `with_text` is set.

    Args:
        verdict: What the guard decided.
        trace_id: Trace that it belongs to, 32 hex digits.
        span_id: Its own id, 16 hex digits.
        end_ns: When it was decided, nanoseconds since 1970; it began `latency_ms` before.
        parent_span_id: Span that asked the guard, 16 hex digits, or empty.
        conversation_id: `gen_ai.conversation.id` of the run, where there is one.
        agent: `gen_ai.agent.name`: whose message was judged.
        with_text: Add the tainted values, which quote the episode, as JSON.

    Raises:
        SettingsError: An id is not of its form.
    """
    _check("trace_id", trace_id, 32)
    _check("span_id", span_id, 16)
    if parent_span_id:
        _check("parent_span_id", parent_span_id, 16)
    start = end_ns - round(verdict.latency_ms * 1e6)
    return {
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": parent_span_id,
        "name": "guardrail fglguard",
        "kind": _INTERNAL,
        "startTimeUnixNano": str(max(0, start)),
        "endTimeUnixNano": str(end_ns),
        "attributes": encoded_attributes(
            {
                names.OPENINFERENCE_KIND: "GUARDRAIL",
                names.GEN_AI_CONVERSATION: conversation_id,
                names.GEN_AI_AGENT_NAME: agent,
                **_said(verdict, with_text),
            }
        ),
        "events": [_evaluation(verdict, end_ns)] if verdict.status == "success" else [],
        # A blocked answer is what a guard is for: only its own failure is an error.
        "status": {"code": _STATUS_ERROR} if verdict.status == "error" else {},
    }


def trace_request(spans: Iterable[dict[str, Any]], *, service: str = "fglguard") -> dict[str, Any]:
    """Spans as an `ExportTraceServiceRequest`, ready for `json.dumps` and for OTLP's `/v1/traces`.

    Args:
        spans: From `guardrail_span`.
        service: `service.name` of the resource.
    """
    scope = {
        "scope": {"name": "fglguard"},
        "spans": list(spans),
        "schemaUrl": names.SCHEMA_URL,
    }
    resource = {"attributes": encoded_attributes({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _said(verdict: Verdict, with_text: bool) -> dict[str, Value]:
    said: dict[str, Value] = {name: getattr(verdict, name) for name in _SAID}
    if verdict.threshold in (float("inf"), float("-inf")):
        said["threshold"] = None
    said["agents"] = dict(verdict.agents)
    if with_text:
        said["taints"] = json.dumps([asdict(taint) for taint in verdict.taints])
    return {f"{names.VERDICT}{name}": value for name, value in said.items()}


def _evaluation(verdict: Verdict, time_ns: int) -> dict[str, Any]:
    return {
        "timeUnixNano": str(time_ns),
        "name": names.GEN_AI_EVALUATION_EVENT,
        "attributes": encoded_attributes(
            {
                names.GEN_AI_EVALUATION_NAME: "fglguard",
                names.GEN_AI_EVALUATION_VALUE: verdict.corroborated_score,
                names.GEN_AI_EVALUATION_LABEL: verdict.decision,
                names.GEN_AI_EVALUATION_EXPLANATION: verdict.reason,
            }
        ),
    }


def _check(name: str, value: str, digits: int) -> None:
    if not re.fullmatch(f"[0-9a-f]{{{digits}}}", value) or not value.strip("0"):
        raise SettingsError(
            f"{name}: expected {digits} lower-case hex digits, not all zero, got {shown(value)}"
        )
