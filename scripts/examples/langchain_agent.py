"""A LangChain agent behind the guard: `python scripts/examples/langchain_agent.py`."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from fglguard import Guard
from fglguard.integrations.langchain import GuardMiddleware
from fglguard.integrations.rewriting import rewriter
from scripts.examples.bank import ASKED, READ, Bank
from scripts.examples.chat_models import calling, scripted
from scripts.examples.trained_guard import example_guard, print_verdict


def run(guard: Guard, planted: bool) -> None:
    """One conversation; the scripted model does whatever the bill tells it to."""
    bank = Bank(planted)
    agent = create_agent(
        scripted(calling("read_file", READ), calling("send_money", bank.induced), "Finished."),
        [tool(bank.read_file), tool(bank.send_money)],
        middleware=[
            GuardMiddleware(
                guard,
                rewriter=rewriter(lambda prompt: "I could not do it."),
                on_verdict=print_verdict,
            )
        ],
        checkpointer=InMemorySaver(),
    )
    thread = "planted" if planted else "clean"
    print(f"{thread} bill")
    state = agent.invoke({"messages": [("user", ASKED)]}, {"configurable": {"thread_id": thread}})
    print(f"  transfers made: {', '.join(bank.sent) or 'none'}")
    print(f"  answer: {state['messages'][-1].content}")


def main() -> None:
    """A bill with a planted instruction, then an honest one."""
    guard = example_guard(__doc__ or "")
    for planted in (True, False):
        run(guard, planted)


if __name__ == "__main__":
    main()
