"""Records are written by hand after the fields of autogen-agentchat 0.7's `model_dump`."""

import pytest

from fglguard.corpora import corpus
from fglguard.episode import Message
from fglguard.errors import CorpusError


def record(kind, source, content, **more):
    shared = {"source": source, "models_usage": None, "metadata": {}, "content": content}
    return {**shared, "type": kind, **more}


def log():
    call = {"id": "c1", "arguments": '{"q": "Oslo"}', "name": "search"}
    result = {"content": "Rain.", "name": "search", "call_id": "c1", "is_error": False}
    return [
        record("TextMessage", "user", "Weather in Oslo?"),
        record("ThoughtEvent", "planner", "I search."),
        record("ToolCallRequestEvent", "planner", [call]),
        record("ToolCallExecutionEvent", "planner", [result]),
        record("ToolCallSummaryMessage", "planner", "Rain.", tool_calls=[call], results=[result]),
        record("HandoffMessage", "planner", "Write it.", target="writer", context=[]),
        record("ModelClientStreamingChunkEvent", "writer", "Ta"),
        record("MemoryQueryEvent", "writer", [{"content": "Likes coats", "mime_type": "text"}]),
        record("CodeGenerationEvent", "writer", "```python\n1```", retry_attempt=0),
        record("CodeExecutionEvent", "writer", None, result={"exit_code": 0, "output": "1"}),
        record("UserInputRequestedEvent", "boss", "", request_id="r"),
        record("MultiModalMessage", "boss", ["Short, please.", {"data": "CANARY"}]),
        record("StructuredMessage[Answer]", "writer", {"answer": "A coat."}),
        record("StopMessage", "writer", "Done."),
    ]


ALL = ("user", "boss", "planner", "writer")


def others(name):
    return tuple(other for other in ALL if other != name)


def test_a_log_becomes_the_episode_derived_by_hand(write):
    """Chat messages reach everybody else; who asks for a user's input is a user."""
    (episode,) = corpus("autogen").read(write("a.jsonl", log()), strict=True)
    assert episode.messages == (
        Message(0, "user", others("user"), "Weather in Oslo?"),
        Message(1, "planner", (), "I search."),
        Message(1, "planner", ("tool:search",), 'search {"q": "Oslo"}', "call"),
        Message(1, "tool:search", ("planner",), "Rain.", "result"),
        Message(2, "planner", others("planner"), "Rain."),
        Message(2, "planner", ("writer",), "Write it."),
        Message(2, "environment", ("writer",), "Likes coats", "result"),
        Message(3, "writer", ("environment",), "```python\n1```", "call"),
        Message(3, "environment", ("writer",), "1", "result"),
        Message(3, "boss", others("boss"), "Short, please."),
        Message(4, "writer", others("writer"), '{"answer": "A coat."}'),
        Message(4, "writer", others("writer"), "Done."),
    )
    assert episode.kinds["boss"] == "user"
    assert (episode.final_agent, episode.domain, episode.unsafe) == ("writer", "autogen", None)


def test_a_tasks_result_is_a_record(write):
    """`TaskResult.model_dump` holds the messages and why the run stopped."""
    results = [{"messages": log(), "stop_reason": "done"}] * 2
    first, second = corpus("autogen").read(write("a.jsonl", results), strict=True)
    assert first.messages == second.messages
    assert second.id == f"{first.id}-2"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({5: {"target": "ghost"}}, "messages[5].target: expected a participant of the log"),
        (
            {0: {"type": "Telegram"}},
            "messages[0].type: expected a message or an event of AgentChat",
        ),
        ({0: {"source": None}}, "messages[0].source: expected a text, got NoneType"),
        ({3: {"content": [{"content": "x", "call_id": "?"}]}}, "expected the id of a call made"),
        ({1: {"source": "environment"}}, "expected an agent's name"),
    ],
)
def test_what_is_missing_or_unknown_is_named(write, change, said):
    messages = [{**message, **change.get(place, {})} for place, message in enumerate(log())]
    with pytest.raises(CorpusError, match=r"a\.jsonl: ") as caught:
        list(corpus("autogen").read(write("a.jsonl", messages), strict=True))
    assert said in str(caught.value)


def test_a_silent_participant_can_be_named(write):
    messages = [{"fglguard.agents": ["ghost"]}, *log()]
    messages[6]["target"] = "ghost"
    (episode,) = corpus("autogen").read(write("a.jsonl", messages), strict=True)
    assert Message(2, "planner", ("ghost",), "Write it.") in episode.messages


@pytest.mark.long
def test_malformed_logs_are_problems_not_crashes(write, survives, tmp_path):
    write("good.jsonl", log())
    survives("autogen", log(), tmp_path, lambda broken: write("bad.json", broken))
