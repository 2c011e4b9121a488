"""Calls of tools, played in the real tool environment without its clock and hash order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, Literal

Asker = Literal["user", "authorised", "injection"]


@dataclass(frozen=True)
class Step:
    """One call of a tool and what came of it.

    Attributes:
        function: The tool's name.
        arguments: As passed, JSON values only.
        result: The text that the agent reads.
        failed: Whether the tool raised an error, which `result` then tells.
        asked_by: Whose wish the call serves.
    """

    function: str
    arguments: Mapping[str, Any]
    result: str
    failed: bool
    asked_by: Asker


class ToolSession:
    """Runs calls one after another in one environment and keeps them."""

    def __init__(self, tools: Sequence[Any], environment: Any) -> None:
        from agentdojo.functions_runtime import FunctionsRuntime

        self.environment = environment
        self.steps: list[Step] = []
        self.calls: list[Any] = []
        self._runtime = FunctionsRuntime(tools)

    def call(self, call: Any, asked_by: Asker) -> Step:
        """Run a call; a tool's error becomes its result, as an agent would see it."""
        started = datetime.now()
        returned, error = self._runtime.run_function(self.environment, call.function, call.args)
        _forget_wall_clock(self.environment, started)
        _order_participants(call.function, returned)
        step = Step(
            function=call.function,
            arguments=json.loads(json.dumps(dict(call.args), default=_plain)),
            result=f"ERROR {error}" if error else _as_text(returned),
            failed=bool(error),
            asked_by=asked_by,
        )
        self.calls.append(call)
        self.steps.append(step)
        return step


def _forget_wall_clock(environment: Any, started: datetime) -> None:
    """Date new emails and changed files to noon of the environment's own day."""
    calendar = getattr(environment, "calendar", None)
    if calendar is None:
        return
    noon = datetime.combine(calendar.current_day, time(12))
    inbox = environment.inbox
    for email in (*inbox.emails.values(), *inbox.trash.values()):
        if email.timestamp.replace(tzinfo=None) >= started:
            email.timestamp = noon
    drive = getattr(environment, "cloud_drive", None)
    for file in drive.files.values() if drive is not None else ():
        if file.last_modified.replace(tzinfo=None) >= started:
            file.last_modified = noon


def _order_participants(function: str, returned: Any) -> None:
    """Sort a new event's participants: the tool takes them from a set of strings."""
    if function == "create_calendar_event" and hasattr(returned, "participants"):
        returned.participants.sort()


def _as_text(returned: Any) -> str:
    """The result as the benchmark words it for a model."""
    from agentdojo.agent_pipeline.tool_execution import tool_result_to_str

    try:
        text = str(tool_result_to_str(returned))
    except TypeError:  # a list of something else than texts, numbers and models
        text = str(returned)
    return text if text.strip() else "(no output)"


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
