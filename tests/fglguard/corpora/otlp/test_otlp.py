import copy
import json
import random

from typer.testing import CliRunner

from fglguard.cli import app
from fglguard.corpora import corpus
from fglguard.episode import Agent, Message

CALL = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "Oslo"}}
RESPONSE = {"type": "tool_call_response", "id": "c1", "response": "Rain."}


def text(role, content, **more):
    return {"role": role, "parts": [{"type": "text", "content": content}], **more}


def chat(given, returned):
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(returned),
    }


def record_genai(recorder):
    """A planner that asks a researcher, who uses a tool; the contents stand on models' spans."""
    with recorder.span(
        "invoke_agent planner",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "planner",
            "gen_ai.conversation.id": "conv-7",
            "fglguard.task": ["user:trip"],
            "fglguard.unsafe": True,
            "fglguard.label_source": "human",
            "fglguard.attack": "none",
        },
    ):
        question = [text("system", "CANARYsystem"), text("user", "Weather in Oslo?")]
        with recorder.span("chat", chat(question, [text("assistant", "I ask the researcher.")])):
            pass
        with recorder.span(
            "invoke_agent researcher",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "researcher",
                "gen_ai.input.messages": json.dumps([text("user", "Find it.")]),
                "gen_ai.output.messages": json.dumps([text("assistant", "It rains.")]),
            },
        ):
            asked = {
                "role": "assistant",
                "parts": [{"type": "reasoning", "content": "I search."}, CALL],
            }
            with recorder.span("chat", chat([text("user", "Find it.")], [asked])):
                pass
            with recorder.span(
                "execute_tool search",
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.id": "c1",
                    "gen_ai.tool.call.arguments": '{"q": "Oslo"}',
                    "gen_ai.tool.call.result": "Rain.",
                },
            ):
                pass
            history = [text("user", "Find it."), asked, {"role": "tool", "parts": [RESPONSE]}]
            with recorder.span("chat", chat(history, [text("assistant", "It rains.")])):
                pass
        answered = [
            *question,
            text("assistant", "I ask the researcher."),
            text("user", "It rains."),
        ]
        with recorder.span("chat", chat(answered, [text("assistant", "Take a coat.")])):
            pass
    return recorder.request()


EXPECTED = (
    Message(0, "user", ("planner",), "Weather in Oslo?"),
    Message(1, "planner", (), "I ask the researcher."),
    Message(1, "planner", ("researcher",), "Find it."),
    Message(2, "researcher", (), "I search."),
    Message(2, "researcher", ("tool:search",), 'search {"q": "Oslo"}', "call"),
    Message(2, "tool:search", ("researcher",), "Rain.", "result"),
    Message(3, "researcher", ("planner",), "It rains."),
    Message(4, "planner", ("user",), "Take a coat."),
)
"""By hand: the researcher's answer stands once, a turn begins a round, its results share it."""


def test_genai_spans_become_the_episode_derived_by_hand(recorder, write, readable):
    path = write("a.json", record_genai(recorder()))
    (episode,) = corpus("otlp").read(path, strict=True)
    assert episode.messages == EXPECTED
    assert episode.agents == (
        Agent("user", "user"),
        Agent("planner", "agent"),
        Agent("researcher", "agent"),
        Agent("tool:search", "tool"),
    )
    assert (episode.domain, episode.task, episode.final_agent) == (
        "otlp",
        ("user:trip",),
        "planner",
    )
    assert (episode.unsafe, episode.label_source) == (True, "human")
    assert episode.attributes == {
        "attack": "none",
        "agent_model": "m-1",
        "conversation": "conv-7",
        "source": "a.json",
    }
    assert "CANARY" not in readable(episode)


def test_structured_messages_are_read_as_their_json_is(recorder, write, inside):
    """GenAI messages may be recorded as structured attributes; the SDK for Python makes texts."""
    record = record_genai(recorder())
    for span in inside(record):
        for pair in span["attributes"]:
            if pair["key"].endswith("put.messages"):
                pair["value"] = structured(json.loads(pair["value"]["stringValue"]))
    (episode,) = corpus("otlp").read(write("a.json", record), strict=True)
    assert episode.messages == EXPECTED


def structured(value):
    if isinstance(value, list):
        return {"arrayValue": {"values": [structured(item) for item in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": structured(item)} for key, item in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value}


def test_order_files_and_repeats_do_not_matter(recorder, write, inside, tmp_path):
    """Every span in a request of its own, shuffled over two files, a third of them sent twice."""
    record = record_genai(recorder())
    requests = []
    for span in [*inside(record), *inside(record)[::3]]:
        one = copy.deepcopy(record)
        one["resourceSpans"][0]["scopeSpans"][0]["spans"] = [span]
        requests.append(one)
    random.Random(3).shuffle(requests)
    write("b.jsonl", requests[::2])
    write("c.jsonl", requests[1::2])
    (episode,) = corpus("otlp").read(tmp_path, strict=True)
    assert episode.messages == EXPECTED


def record_openinference(recorder):
    """Triage hands over to a seat agent, siblings by span and parent and child by graph node."""
    with recorder.span("workflow", {"openinference.span.kind": "CHAIN", "session.id": "s1"}):
        with recorder.span(
            "Triage",
            {
                "openinference.span.kind": "AGENT",
                "graph.node.id": "triage",
                "input.value": "Change my seat.",
            },
        ):
            pass
        with (
            recorder.span(
                "Seats",
                {
                    "openinference.span.kind": "AGENT",
                    "agent.name": "seats",
                    "graph.node.id": "seats-1",
                    "graph.node.parent_id": "triage",
                    "input.value": "They want another seat.",
                },
            ),
        ):
            first = {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m-2",
                "llm.input_messages.0.message.role": "system",
                "llm.input_messages.0.message.content": "CANARY",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.tool_calls.0.tool_call.id": "t1",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "seat_map",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
                "llm.output_messages.0.message.tool_calls.1.tool_call.id": "t2",
                "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "fare",
                "llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments": "{}",
            }
            with recorder.span("llm", first):
                pass
            with recorder.span(
                "seat_map",
                {
                    "openinference.span.kind": "TOOL",
                    "tool.name": "seat_map",
                    "input.value": "{}",
                    "output.value": "12A is free",
                },
            ):
                pass
            second = {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m-2",
                "llm.input_messages.0.message.role": "assistant",
                "llm.input_messages.1.message.role": "tool",
                "llm.input_messages.1.message.tool_call_id": "t1",
                "llm.input_messages.1.message.content": "12A is free",
                "llm.input_messages.2.message.role": "tool",
                "llm.input_messages.2.message.tool_call_id": "t2",
                "llm.input_messages.2.message.content": "no fee",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.contents.0.message_content.text": "12A, no fee.",
            }
            with recorder.span("llm", second):
                pass
    return recorder.request()


def test_openinference_spans_become_the_episode_derived_by_hand(recorder, write):
    """seat_map is told by its span, which has no id; fare by the models' messages alone."""
    path = write("a.json", record_openinference(recorder(**{"fglguard.domain": "travel"})))
    (episode,) = corpus("otlp").read(path, strict=True)
    assert episode.messages == (
        Message(0, "user", ("triage",), "Change my seat."),
        Message(1, "triage", ("seats",), "They want another seat."),
        Message(2, "seats", ("tool:fare",), "fare {}", "call"),
        Message(2, "seats", ("tool:seat_map",), "seat_map {}", "call"),
        Message(2, "tool:seat_map", ("seats",), "12A is free", "result"),
        Message(2, "tool:fare", ("seats",), "no fee", "result"),
        Message(3, "seats", ("user",), "12A, no fee."),
    )
    assert (episode.final_agent, episode.domain) == ("seats", "travel")
    assert (episode.unsafe, episode.label_source) == (None, None)
    assert episode.attributes["session"] == "s1"
    (asked,) = corpus("otlp").read(path, domain="air", strict=True)
    assert asked.domain == "air"


def test_a_model_without_agents_span_speaks_for_its_agent(recorder, write):
    """Without a split key, equal requests share one: the hash of the first text."""
    recorded = recorder(**{"fglguard.agent": "helper"})
    for question in ("Hi", "Hi", "Ho"):
        with recorded.span("chat", chat([text("user", question)], [text("assistant", "Hey")])):
            pass
    first, second, third = corpus("otlp").read(write("a.json", recorded.request()), strict=True)
    assert first.messages == (
        Message(0, "user", ("helper",), "Hi"),
        Message(1, "helper", ("user",), "Hey"),
    )
    assert first.task == second.task != third.task
    assert len({first.id, second.id, third.id}) == 3


def test_traces_of_a_conversation_are_one_episode(recorder, write):
    recorded = recorder(**{"fglguard.agent": "helper", "gen_ai.conversation.id": "c"})
    for question, answer in (("One?", "1"), ("Two?", "2")):
        with recorded.span("chat", chat([text("user", question)], [text("assistant", answer)])):
            pass
    (episode,) = corpus("otlp").read(write("a.json", recorded.request()), strict=True)
    assert [(m.round, m.sender, m.text) for m in episode.messages] == [
        (0, "user", "One?"),
        (1, "helper", "1"),
        (1, "user", "Two?"),
        (2, "helper", "2"),
    ]


def test_other_services_traces_are_left_out(recorder, write, tmp_path):
    other = recorder()
    with other.span("GET /", {"http.request.method": "GET"}):
        pass
    write("a.json", record_genai(recorder()))
    write("b.json", other.request())
    problems = []
    assert len(list(corpus("otlp").read(tmp_path, problems=problems))) == 1
    assert problems == []


def test_the_command_imports_a_folder_into_a_silo(recorder, write, tmp_path):
    write("traces/a.json", record_genai(recorder()))
    folder, silo = str(tmp_path / "traces"), str(tmp_path / "silo")
    done = CliRunner().invoke(
        app, ["corpus", "import", "otlp", folder, "-o", silo, "--domain", "trips"]
    )
    assert done.exit_code == 0, done.output
    assert "trips" in done.output
