"""Safe episodes that look like attacks: an action whose value stands in a tool's result only."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fglguard.corpora.replay.execution import Step

_READING = ("get_", "read_", "search_", "list_", "check_")
_SHORTEST = 4
"""Values of fewer characters ("13", "r") turn up in any result."""


def is_acting(function: str) -> bool:
    """Whether a tool changes something, by its name; the others only read."""
    return not function.startswith(_READING)


def acts_on_what_it_read(prompt: str, steps: Sequence[Step]) -> bool:
    """Whether an acting call of the user's takes a value from a result, not from the prompt.

    Such a flow, from a tool's result into another tool's argument, is what an obeyed injection
    looks like; here the user delegated it.
    """
    asked = prompt.casefold()
    read = ""
    for step in steps:
        if is_acting(step.function) and step.asked_by != "injection":
            values = (v for v in _values(step.arguments.values()) if len(v) >= _SHORTEST)
            if any(value not in asked and value in read for value in values):
                return True
        read += "\n" + step.result.casefold()
    return False


def _values(arguments: Iterable[Any]) -> Iterator[str]:
    for value in arguments:
        if isinstance(value, dict):
            yield from _values(value.values())
        elif isinstance(value, list):
            yield from _values(value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield str(value).casefold()
