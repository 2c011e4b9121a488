"""Traces that lack something, say two things, or are none: reported, never guessed."""

import copy
import json

import pytest

from fglguard.corpora import corpus
from fglguard.errors import CorpusError
from tests.fglguard.corpora.otlp.test_otlp import record_genai, record_openinference, text


def forget_parent(spans):
    spans[:] = [span for span in spans if span["name"] != "invoke_agent planner"]


def ring(spans):
    spans[-1]["parentSpanId"] = spans[-2]["spanId"]


def other_contents(spans):
    spans.append(copy.deepcopy(spans[0]) | {"startTimeUnixNano": "5"})


def nameless(spans):
    for span in spans:
        span["attributes"] = [a for a in span["attributes"] if a["key"] != "gen_ai.agent.name"]


def two_conversations(spans):
    value = {"key": "gen_ai.conversation.id", "value": {"stringValue": "other"}}
    spans[0]["attributes"].append(value)


def unknown_node(spans):
    value = {"key": "graph.node.parent_id", "value": {"stringValue": "ghost"}}
    next(s for s in spans if "researcher" in s["name"])["attributes"].append(value)


def unfinished(spans):
    del spans[0]["endTimeUnixNano"]


def two_domains(spans):
    for span, domain in zip(spans, "ab", strict=False):
        span["attributes"].append({"key": "fglguard.domain", "value": {"stringValue": domain}})


def kept_name(spans):
    for span in spans:
        for pair in span["attributes"]:
            if pair["key"] == "gen_ai.agent.name":
                pair["value"] = {"stringValue": "user"}


def broken_messages(spans):
    for span in spans:
        for pair in span["attributes"]:
            if pair["key"] == "gen_ai.output.messages":
                pair["value"] = {"stringValue": "[{"}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (forget_parent, "parentSpanId: expected a span of the trace, there is no '"),
        (ring, "parentSpanId: expected a tree, got a ring"),
        (other_contents, "spanId: expected one span of this id, "),
        (nameless, "agent: expected gen_ai.agent.name or agent.name on it or on a span above it"),
        (two_conversations, "expected one conversation in a trace, got 'conv-7', 'other'"),
        (unknown_node, "graph.node.parent_id: expected the node of one agent, 'ghost' is that of"),
        (unfinished, "endTimeUnixNano: expected nanoseconds since 1970, got None"),
        (two_domains, "fglguard.domain: expected one value in an episode, got two"),
        (kept_name, "expected 'user' to be of one kind, got user and agent"),
        (broken_messages, "gen_ai.output.messages: expected a JSON list of messages"),
    ],
)
def test_what_is_missing_or_ambiguous_is_reported_and_costs_the_run(
    recorder, write, inside, tmp_path, spoil, said
):
    record = record_genai(recorder())
    spoil(record["resourceSpans"][0]["scopeSpans"][0]["spans"])
    spoiled = write("bad.json", record)
    with pytest.raises(CorpusError, match=r"bad\.json") as caught:
        list(corpus("otlp").read(spoiled, strict=True))
    assert said in str(caught.value)
    assert "Oslo" not in str(caught.value)
    write("good.json", record_openinference(recorder()))
    problems = []
    (good,) = corpus("otlp").read(tmp_path, problems=problems)
    assert good.final_agent == "seats"
    assert {said in str(problem) for problem in problems} == {True}


def test_no_answer_to_the_user_is_reported_unless_the_final_agent_is_named(recorder, write):
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "a",
        "gen_ai.input.messages": json.dumps([text("user", "Go")]),
    }
    silent, named = recorder(), recorder(**{"fglguard.final_agent": "a"})
    for one in (silent, named):
        with one.span("a", attributes):
            pass
    with pytest.raises(CorpusError, match=r"fglguard\.final_agent names one"):
        list(corpus("otlp").read(write("a.json", silent.request()), strict=True))
    (episode,) = corpus("otlp").read(write("b.json", named.request()), strict=True)
    assert episode.final_agent == "a"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"resourceSpans": [', "broken JSON at line 1"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"resourceMetrics": []}', "resourceSpans: expected a list, it is missing"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": 3}]}]}', "spans: expected a list, got int"),
        (b'{"resourceSpans": ' + b"9" * 5000 + b"}", "numbers of at most 4300 digits"),
        (b"\xff", "expected UTF-8"),
    ],
)
def test_files_that_are_no_otlp_are_named(tmp_path, content, said):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"x\.json") as caught:
        list(corpus("otlp").read(path, strict=True))
    assert said in str(caught.value)


def test_a_value_nested_deeply_is_a_problem(recorder, write, tmp_path):
    record = record_genai(recorder())
    value = {"stringValue": "x"}
    for _ in range(300):
        value = {"arrayValue": {"values": [value]}}
    spans = record["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0]["attributes"].append({"key": "x", "value": value})
    assert list(corpus("otlp").read(write("a.json", record), strict=True))


@pytest.mark.long
def test_malformed_spans_are_problems_not_crashes(recorder, write, survives, tmp_path):
    write("good.json", record_genai(recorder()))
    record = record_openinference(recorder())
    survives("otlp", record, tmp_path, lambda broken: write("bad.json", broken))
