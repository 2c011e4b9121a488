"""A guard as guardrails of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fglguard.errors import SettingsError
from fglguard.guard import Guard
from fglguard.integrations.gate import CALL_REFUSED, WITHHELD, Gate, OnVerdict
from fglguard.integrations.packages import missing_package
from fglguard.integrations.response_items import History

try:
    from agents import (
        Agent,
        GuardrailFunctionOutput,
        OutputGuardrail,
        RunContextWrapper,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
        ToolOutputGuardrail,
        ToolOutputGuardrailData,
    )
except ImportError as error:
    raise missing_package("agents (the OpenAI Agents SDK)", "openai-agents>=0.24") from error


class ConversationGuardrails:
    """The guardrails of one conversation: make them anew for each.

    Calls are checked before the tool runs, results are taken in before the model reads them, and
    the final output is checked before the run returns it. Every function tool needs both tool
    guardrails: a result that the guard never saw counts towards no verdict. What tools that run at
    the provider return is not seen. An output that is held back ends the run with the SDK's
    `OutputGuardrailTripwireTriggered`, whose `guardrail_result.output.output_info` is the verdict;
    there is no rewrite.

    Args:
        guard: The guard; its policy should have `calls=True`.
        episode: Id of the conversation.
        agents: Names of the agents that take part: the one that begins first, and those that the
            conversation may be handed on to.
        user: Id of the user.
        on_verdict: Told of every verdict.

    Raises:
        SettingsError: No agents are named.
    """

    def __init__(
        self,
        guard: Guard,
        episode: str,
        agents: Sequence[str],
        *,
        user: str = "user",
        on_verdict: OnVerdict | None = None,
    ) -> None:
        if not agents:
            raise SettingsError("agents: expected the name of at least one, got none")
        self._gate = Gate(guard, on_verdict)
        self._history = History(episode, tuple(agents), user)

    @property
    def tool_input(self) -> ToolInputGuardrail[Any]:
        """For a function tool's `tool_input_guardrails`."""
        return ToolInputGuardrail(self._check_call, name="fglguard")

    @property
    def tool_output(self) -> ToolOutputGuardrail[Any]:
        """For a function tool's `tool_output_guardrails`."""
        return ToolOutputGuardrail(self._take_result, name="fglguard")

    @property
    def output(self) -> OutputGuardrail[Any]:
        """For an agent's `output_guardrails`."""
        return OutputGuardrail(self._check_output, name="fglguard")

    async def _check_call(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        call = data.context
        said = self._history.events(call.turn_input)
        event = self._history.call(
            data.agent.name, call.tool_name, call.tool_arguments, call.tool_call_id
        )
        verdict = await self._gate.acheck(said, event)
        if verdict.blocked:
            return ToolGuardrailFunctionOutput.reject_content(CALL_REFUSED, verdict)
        return ToolGuardrailFunctionOutput.allow(verdict)

    async def _take_result(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        event = self._history.result(data.context.tool_call_id, data.output)
        error = await self._gate.aobserve([event])
        if error is None:
            return ToolGuardrailFunctionOutput.allow()
        verdict = self._gate.failure(event, error)
        if verdict.blocked:
            # What the model reads in its place is what was said: nothing is missing then.
            await self._gate.awithheld(event, error)
            return ToolGuardrailFunctionOutput.reject_content(WITHHELD, verdict)
        return ToolGuardrailFunctionOutput.allow(verdict)

    async def _check_output(
        self, context: RunContextWrapper[Any], agent: Agent[Any], output: Any
    ) -> GuardrailFunctionOutput:
        said = list(context.turn_input)
        event = self._history.answer(agent.name, output, said)
        verdict = await self._gate.acheck(self._history.events(said), event)
        return GuardrailFunctionOutput(verdict, tripwire_triggered=verdict.blocked)
