"""Chat models that say what they are told to, tools that remember their calls; no network."""

import asyncio

from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool


class Scripted(FakeMessagesListChatModel):
    """Says one message after the other, whatever it is asked."""

    def bind_tools(self, tools, **kwargs):
        return self


def scripted(*replies):
    messages = [AIMessage(one) if isinstance(one, str) else one for one in replies]
    return Scripted(responses=messages)


def calling(name, number="1", text="", **arguments):
    call = {"name": name, "args": arguments, "id": f"call-{number}"}
    return AIMessage(text, tool_calls=[call])


def bank(found="Rent 100 to Kim", sent=None):
    """Two tools: one reads what somebody else wrote, one moves money into `sent`."""
    sent = [] if sent is None else sent

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return found

    @tool
    def send(note: str) -> str:
        """Send money."""
        sent.append(note)
        return "sent"

    return [read_file, send], sent


def run(graph, given, how, thread="t"):
    """The final state, by `invoke` or by its twin."""
    config = {"configurable": {"thread_id": thread}}
    if how == "sync":
        return graph.invoke(given, config)
    return asyncio.run(graph.ainvoke(given, config))


def violations(verdicts):
    return [one for one in verdicts if one.status == "success" and one.decision != "allow"]
