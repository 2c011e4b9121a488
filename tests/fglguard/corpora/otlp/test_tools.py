import json
from pathlib import Path

import pytest

from fglguard.corpora.otlp.agents import AgentTree
from fglguard.corpora.otlp.spans import Span
from fglguard.corpora.otlp.tools import ToolCalls
from fglguard.corpora.reading import Source
from fglguard.errors import CorpusError

SOURCE = Source(Path("a.json"), Path("a.json"), "", "")


def span(identity, operation, **attributes):
    shared = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "a"}
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return Span("t", identity, "", 1, 2, shared | named, {}, SOURCE, "")


def given(*results):
    parts = [{"type": "tool_call_response", "id": i, "response": text} for i, text in results]
    return json.dumps([{"role": "tool", "parts": parts}])


def asked(*calls):
    parts = [{"type": "tool_call", "id": i, "name": name, "arguments": {}} for i, name in calls]
    return json.dumps([{"role": "assistant", "parts": parts}])


def told(*spans):
    """What is said of calls, as (sender, receiver, text)."""
    tools = ToolCalls(spans, AgentTree(spans))
    said = list(tools.of_spans())
    for one in spans:
        if one.operation == "model":
            said += tools.of_model(one, "a")
    return [(one.sender, one.receivers[0], one.text) for one in said]


def test_a_span_without_contents_takes_them_from_the_models():
    tool = span("1", "execute_tool", gen_ai__tool__name="f", gen_ai__tool__call__id="c")
    first = span("2", "chat", gen_ai__output__messages=asked(("c", "f")))
    second = span("3", "chat", gen_ai__input__messages=given(("c", "r")))
    assert told(tool, first, second) == [("a", "f", "f {}"), ("f", "a", "r")]


def test_a_span_without_id_tells_of_its_tool_and_the_models_of_others():
    tool = span("1", "execute_tool", gen_ai__tool__name="f", gen_ai__tool__call__result="r")
    first = span("2", "chat", gen_ai__output__messages=asked(("c", "f"), ("d", "g")))
    second = span("3", "chat", gen_ai__input__messages=given(("c", "r"), ("d", "s"), (None, "?")))
    assert told(tool, first, second) == [
        ("a", "f", "f {}"),
        ("f", "a", "r"),
        ("a", "g", "g {}"),
        ("g", "a", "s"),
    ]


def test_a_result_that_is_given_twice_is_told_once():
    first = span("1", "chat", gen_ai__output__messages=asked(("c", "f")))
    again = [span(i, "chat", gen_ai__input__messages=given(("c", "r"))) for i in "23"]
    assert told(first, *again) == [("a", "f", "f {}"), ("f", "a", "r")]


def test_a_result_of_no_call_and_a_tool_without_name_are_named():
    with pytest.raises(CorpusError, match=r"span '1' .*tool result: expected the id of a call"):
        told(span("1", "chat", gen_ai__input__messages=given(("c", "r"))))
    with pytest.raises(CorpusError, match=r"tool: expected gen_ai\.tool\.name or tool\.name"):
        told(span("1", "execute_tool"))
