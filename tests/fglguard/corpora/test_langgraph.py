import json

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from langgraph.graph import END, START, MessagesState, StateGraph

from fglguard.corpora import corpus
from fglguard.episode import Message
from fglguard.errors import CorpusError


def call(name, identity, **args):
    return {"name": name, "args": args, "id": identity}


def planner(state):
    calls = [call("search", "c1", q="Oslo"), call("transfer_to_writer", "c2")]
    return {"messages": [AIMessage("I search first.", name="planner", tool_calls=calls)]}


def tools(state):
    return {
        "messages": [
            ToolMessage("Rain.", tool_call_id="c1", name="search"),
            ToolMessage("Over to the writer.", tool_call_id="c2"),
        ]
    }


def writer(state):
    blocks = [{"type": "text", "text": "Take a coat."}]
    return {"messages": [AIMessage(blocks, name="writer")]}


@pytest.fixture(scope="module")
def state():
    """Messages of a real graph's run, its nodes scripted."""
    graph = StateGraph(MessagesState)
    for node in (planner, tools, writer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "tools")
    graph.add_edge("tools", "writer")
    graph.add_edge("writer", END)
    given = [SystemMessage("CANARY"), HumanMessage("Weather in Oslo?")]
    return graph.compile().invoke({"messages": given})["messages"]


EXPECTED = (
    Message(0, "user", ("planner",), "Weather in Oslo?"),
    Message(1, "planner", ("writer",), "I search first."),
    Message(1, "planner", ("tool:search",), 'search {"q": "Oslo"}', "call"),
    Message(1, "planner", ("tool:transfer_to_writer",), "transfer_to_writer {}", "call"),
    Message(1, "tool:search", ("planner", "writer"), "Rain.", "result"),
    Message(1, "tool:transfer_to_writer", ("planner", "writer"), "Over to the writer.", "result"),
    Message(2, "writer", ("user",), "Take a coat."),
)
"""By hand: who speaks next hears, the user after the last, callers their results as well."""


def test_every_form_of_a_real_log_becomes_the_episode_derived_by_hand(state, write):
    forms = [messages_to_dict(state), [dumpd(m) for m in state], [m.model_dump() for m in state]]
    files = [write(f"{place}.jsonl", form) for place, form in enumerate(forms)]
    files += [write("list.json", forms[0]), write("object.json", {"messages": forms[1]})]
    for path in files:
        (episode,) = corpus("langgraph").read(path, strict=True)
        assert episode.messages == EXPECTED, path
        assert (episode.final_agent, episode.domain, episode.unsafe) == (
            "writer",
            "langgraph",
            None,
        )


def test_a_record_a_log_and_what_it_says_of_itself(state, write):
    """The split key is the label's file's; the domain asked for wins."""
    told = {"fglguard.domain": "trips", "fglguard.unsafe": False, "fglguard.label_source": "judge"}
    log = {"messages": messages_to_dict(state), "fglguard.task": "user:7", **told}
    path = write("logs.jsonl", [log, messages_to_dict(state)])
    first, second = corpus("langgraph").read(path, strict=True)
    assert (first.domain, first.task) == ("trips", ("user:7",))
    assert (first.unsafe, first.label_source) == (False, "judge")
    assert (second.domain, second.unsafe, second.messages) == ("langgraph", None, first.messages)
    (asked, _) = corpus("langgraph").read(path, domain="langgraph")
    assert asked.domain == "langgraph"


def test_names_that_are_missing_are_told_between_the_messages(write):
    messages = messages_to_dict([HumanMessage("Hi"), AIMessage("Hello")])
    path = write("a.jsonl", messages)
    with pytest.raises(CorpusError, match=r"messages\[1\]\.name: .* fglguard\.agent names"):
        list(corpus("langgraph").read(path, strict=True))
    path = write("a.jsonl", [{"fglguard.agent": "helper"}, *messages])
    (episode,) = corpus("langgraph").read(path, strict=True)
    assert episode.messages[1] == Message(1, "helper", ("user",), "Hello")


def test_an_agents_report_may_come_as_a_human_message(write):
    """One of a name that no agent has is the user's."""
    messages = messages_to_dict(
        [
            HumanMessage("Hi", name="somebody"),
            HumanMessage("I found it.", name="researcher"),
            AIMessage("Here.", name="lead"),
        ]
    )
    path = write("a.jsonl", [{"fglguard.agents": ["researcher"]}, *messages])
    (episode,) = corpus("langgraph").read(path, strict=True)
    assert [(m.sender, m.receivers) for m in episode.messages] == [
        ("user", ("researcher",)),
        ("researcher", ("lead",)),
        ("lead", ("user",)),
    ]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"type": "tool", "content": "x", "tool_call_id": "?"}], "expected the id of a call made"),
        ([{"type": "robot", "content": "x"}], "messages[0].type: expected one of human"),
        ([{"type": "ai", "content": "x", "name": "tool:a"}], "expected an agent's name"),
        ([{"type": "human", "content": "x"}], "expected an agent's answer to the user"),
        ([{"content": "x"}, 3], "messages[1]: expected an object, got int"),
    ],
)
def test_what_is_missing_or_unknown_is_named(write, messages, said):
    with pytest.raises(CorpusError, match=r"a\.jsonl: ") as caught:
        list(corpus("langgraph").read(write("a.jsonl", messages), strict=True))
    assert said in str(caught.value)


def test_a_broken_line_costs_its_log_and_is_named(state, write, tmp_path):
    write("good.jsonl", messages_to_dict(state))
    lines = [json.dumps(message) for message in messages_to_dict(state)]
    (tmp_path / "bad.jsonl").write_text("\n".join([*lines[:2], "{", *lines[2:]]))
    problems = []
    assert len(list(corpus("langgraph").read(tmp_path, problems=problems))) == 1
    assert "bad.jsonl:3: expected JSON, got broken JSON" in str(problems[0])


@pytest.mark.long
def test_malformed_logs_are_problems_not_crashes(state, write, survives, tmp_path):
    write("good.jsonl", messages_to_dict(state))
    survives("langgraph", messages_to_dict(state), tmp_path, lambda bad: write("bad.json", bad))
