"""An agent of the OpenAI Agents SDK behind the guard, with a scripted model.

.venv-frameworks/bin/python scripts/examples/openai_agents.py
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    OutputGuardrailTripwireTriggered,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.items import ModelResponse
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from fglguard import Guard
from fglguard.integrations.openai_agents import ConversationGuardrails
from scripts.examples.bank import ASKED, READ, Bank
from scripts.examples.trained_guard import example_guard, print_verdict


class ScriptedModel(Model):
    """Says one output after the other, whatever it is asked."""

    def __init__(self, *outputs: Any) -> None:
        self._left = list(outputs)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next output."""
        return ModelResponse([self._left.pop(0)], Usage(), None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """This model does not stream."""
        raise RuntimeError("this model does not stream")
        yield


def calling(tool: str, arguments: dict[str, Any]) -> ResponseFunctionToolCall:
    """An output that calls a tool."""
    return ResponseFunctionToolCall(
        arguments=json.dumps(arguments), call_id=f"call-{tool}", name=tool, type="function_call"
    )


def saying(text: str) -> ResponseOutputMessage:
    """An output that is an answer."""
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(
        id="answer", content=[content], role="assistant", status="completed", type="message"
    )


async def run(guard: Guard, planted: bool) -> None:
    """One conversation; the scripted model does whatever the bill tells it to."""
    bank, name = Bank(planted), "planted" if planted else "clean"
    rails = ConversationGuardrails(guard, name, ["agent"], on_verdict=print_verdict)
    tools = [
        function_tool(
            tool,
            tool_input_guardrails=[rails.tool_input],
            tool_output_guardrails=[rails.tool_output],
        )
        for tool in (bank.read_file, bank.send_money)
    ]
    model = ScriptedModel(
        calling("read_file", READ), calling("send_money", bank.induced), saying("Finished.")
    )
    agent = Agent("agent", model=model, tools=tools, output_guardrails=[rails.output])
    print(f"{name} bill")
    try:
        answer = (await Runner.run(agent, ASKED)).final_output
    except OutputGuardrailTripwireTriggered:
        answer = guard.policy.safe_message
    print(f"  transfers made: {', '.join(bank.sent) or 'none'}")
    print(f"  answer: {answer}")


def main() -> None:
    """A bill with a planted instruction, then an honest one."""
    set_tracing_disabled(True)
    guard = example_guard(__doc__ or "")
    for planted in (True, False):
        asyncio.run(run(guard, planted))


if __name__ == "__main__":
    main()
