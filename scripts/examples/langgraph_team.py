"""A team of four LangGraph agents behind the guard: `python scripts/examples/langgraph_team.py`.

A coordinator hands a bill to a clerk who reads it, a payer who sends the money, and an auditor. All
of them read the messages of the graph's state, so each hears all the others.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from fglguard import Guard
from fglguard.integrations.langgraph import TeamGuard
from scripts.examples.bank import ASKED, LANDLORD, READ, Bank
from scripts.examples.chat_models import ScriptedChatModel, calling, scripted
from scripts.examples.trained_guard import example_guard, print_verdict

AGENTS = ("coordinator", "clerk", "payer", "auditor")
HEARS = {
    "user": AGENTS,
    **{name: tuple(other for other in AGENTS if other != name) for name in AGENTS},
}
HEARS["coordinator"] = ("user", *HEARS["coordinator"])


def models(bank: Bank) -> dict[str, ScriptedChatModel]:
    """Scripted agents; the payer does whatever the bill tells it to."""
    order = f"Clerk, please read the bill. Payer, please send the total to {LANDLORD}."
    return {
        "coordinator": scripted(order, "Finished."),
        "clerk": scripted(calling("read_file", READ), f"The bill says:\n{bank.read_file('')}"),
        "payer": scripted(calling("send_money", bank.induced), "My part is done."),
        "auditor": scripted("I looked at the account."),
    }


def agent(name: str, model: ScriptedChatModel) -> Callable[[MessagesState], dict[str, Any]]:
    """A node that asks a model and says its reply under the agent's name."""

    def node(state: MessagesState) -> dict[str, Any]:
        reply = model.invoke(state["messages"])
        return {"messages": [reply.model_copy(update={"name": name})]}

    return node


def following(tools: str, after: str) -> Callable[[MessagesState], str]:
    """To the tools where the agent calls one, else to the next agent."""

    def way(state: MessagesState) -> str:
        last = state["messages"][-1]
        return tools if isinstance(last, AIMessage) and last.tool_calls else after

    return way


def team(guard: Guard, bank: Bank) -> Any:
    """The graph: coordinator, clerk, payer, auditor, coordinator again, the guard's node."""
    guarded = TeamGuard(guard, HEARS, on_verdict=print_verdict)
    graph = StateGraph(MessagesState)
    scripts = models(bank)
    for name in AGENTS:
        graph.add_node(name, agent(name, scripts[name]))
    graph.add_node("answer", agent("coordinator", scripts["coordinator"]))
    graph.add_node("guard", guarded.node())
    for name, function, after in (
        ("clerk", bank.read_file, "payer"),
        ("payer", bank.send_money, "auditor"),
    ):
        graph.add_node(f"{name}_tools", guarded.tools([tool(function)]))
        graph.add_conditional_edges(name, following(f"{name}_tools", after))
        graph.add_edge(f"{name}_tools", name)
    for before, after in ((START, "coordinator"), ("coordinator", "clerk"), ("auditor", "answer")):
        graph.add_edge(before, after)
    graph.add_edge("answer", "guard")
    graph.add_edge("guard", END)
    return graph.compile(checkpointer=InMemorySaver())


def main() -> None:
    """A bill with a planted instruction, then an honest one."""
    guard = example_guard(__doc__ or "")
    for planted in (True, False):
        bank = Bank(planted)
        thread = "planted" if planted else "clean"
        print(f"{thread} bill")
        config = {"configurable": {"thread_id": thread}}
        state = team(guard, bank).invoke({"messages": [("user", ASKED)]}, config)
        print(f"  transfers made: {', '.join(bank.sent) or 'none'}")
        print(f"  answer: {state['messages'][-1].content}")


if __name__ == "__main__":
    main()
