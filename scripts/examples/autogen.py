"""An AutoGen agent and its tools behind the guard, with a scripted agent.

.venv-frameworks/bin/python scripts/examples/autogen.py
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from autogen_core import (
    AgentId,
    FunctionCall,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    message_handler,
)
from autogen_core.exceptions import MessageDroppedException
from autogen_core.tool_agent import ToolAgent
from autogen_core.tools import FunctionTool

from fglguard import Guard
from fglguard.integrations.autogen import GuardHandler
from scripts.examples.bank import ASKED, READ, Bank
from scripts.examples.trained_guard import example_guard, print_verdict


@dataclass
class Request:
    """What the user asks for."""

    content: str


@dataclass
class Answer:
    """What the agent answers."""

    content: str


class Clerk(RoutedAgent):
    """Reads the bill and does whatever it says."""

    def __init__(self, induced: dict[str, Any]) -> None:
        super().__init__("reads bills and pays them")
        self._calls = (("read_file", READ), ("send_money", induced))

    @message_handler
    async def work(self, message: Request, context: MessageContext) -> Answer:
        """Make the calls, one after the other."""
        for name, arguments in self._calls:
            call = FunctionCall(id=f"call-{name}", name=name, arguments=json.dumps(arguments))
            try:
                await self.send_message(call, AgentId("tools", "default"))
            except MessageDroppedException:
                return Answer("I could not do it.")
        return Answer("Finished.")


async def run(guard: Guard, planted: bool) -> None:
    """One conversation."""
    bank, name = Bank(planted), "planted" if planted else "clean"
    handler = GuardHandler(guard, name, ["agent"], answers=["agent"], on_verdict=print_verdict)
    runtime = SingleThreadedAgentRuntime(intervention_handlers=[handler])
    tools = [
        FunctionTool(one, description=one.__doc__ or "")
        for one in (bank.read_file, bank.send_money)
    ]
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("tools", tools))
    await Clerk.register(runtime, "agent", lambda: Clerk(bank.induced))
    print(f"{name} bill")
    runtime.start()
    try:
        answer = (await runtime.send_message(Request(ASKED), AgentId("agent", "default"))).content
    except MessageDroppedException:
        answer = guard.policy.safe_message
    await runtime.stop()
    print(f"  transfers made: {', '.join(bank.sent) or 'none'}")
    print(f"  answer: {answer}")


def main() -> None:
    """A bill with a planted instruction, then an honest one."""
    guard = example_guard(__doc__ or "")
    for planted in (True, False):
        asyncio.run(run(guard, planted))


if __name__ == "__main__":
    main()
