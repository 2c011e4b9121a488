from pathlib import Path

import pytest

from fglguard.corpora.otlp.agents import AgentTree
from fglguard.corpora.otlp.spans import Span
from fglguard.corpora.reading import Source
from fglguard.errors import CorpusError

SOURCE = Source(Path("a.json"), Path("a.json"), "", "")


def span(identity, parent="", kind="AGENT", **attributes):
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    kinds = {"openinference.span.kind": kind}
    return Span("t", identity, parent, 1, 2, kinds | named, {}, SOURCE, "")


def test_whose_a_span_is_and_who_waits_for_it():
    """By hand: lead (twice) > chain > writer > model, tool; the chain names nobody."""
    lead, again = span("1", agent__name="lead"), span("2", "1", agent__name="lead")
    chain, writer = span("3", "2", "CHAIN"), span("4", "3", agent__name="writer")
    model, tool = span("5", "4", "LLM"), span("6", "5", "TOOL")
    tree = AgentTree([tool, model, writer, chain, again, lead])
    assert [tree.agent(one) for one in (again, chain, model, tool)] == [
        "lead",
        "lead",
        "writer",
        "writer",
    ]
    assert [tree.outermost(one) for one in (again, chain, model)] == [lead, lead, writer]
    assert [tree.awaiting(one) for one in (again, writer, model, tool)] == [
        None,
        "lead",
        "lead",
        "lead",
    ]


def test_a_graphs_parent_hands_over_and_the_span_above_waits():
    lead, first = span("1", agent__name="lead"), span("2", "1", graph__node__id="first")
    second = span("3", "1", graph__node__id="second", graph__node__parent_id="first")
    tree = AgentTree([lead, first, second])
    assert (tree.calling(second), tree.awaiting(second)) == ("first", "lead")
    assert tree.calling(first) == "lead"


def test_a_node_of_two_agents_is_ambiguous():
    nodes = [span(name, agent__name=name, graph__node__id="n") for name in "ab"]
    child = span("c", agent__name="c", graph__node__parent_id="n")
    with pytest.raises(CorpusError, match=r"'n' is that of 'a', 'b'$"):
        AgentTree([*nodes, child]).calling(child)


def test_the_agent_of_nameless_spans_can_be_told():
    outer, model = span("1"), span("2", "1", "LLM")
    tree = AgentTree([outer, model], "helper")
    assert (tree.agent(model), tree.outermost(model), tree.awaiting(outer)) == (
        "helper",
        outer,
        None,
    )
    with pytest.raises(CorpusError, match=r"span '1' of trace 't': agent: expected"):
        AgentTree([outer]).agent(outer)
