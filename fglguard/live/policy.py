"""What a guard does with a score: what it looks at, what it lets pass, and what an error means."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from fglguard.errors import SettingsError
from fglguard.events import Event

OnError = Literal["block", "allow"]
Mode = Literal["enforce", "shadow"]

SAFE_MESSAGE = "I can't give an answer to this: it did not pass this system's safety check."


@dataclass(frozen=True, slots=True)
class AllowList:
    """What passes unchecked; each use is recorded in the verdict.

    Attributes:
        agents: Ids of agents.
        tools: Names of tools.
        hashes: SHA-256 of texts (`Event.content_hash`), in small hexadecimal letters.
    """

    agents: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    hashes: frozenset[str] = frozenset()

    def entry(self, event: Event) -> str | None:
        """The entry that lets an event pass, in words; None without one."""
        if event.sender in self.agents:
            return f"agent {event.sender!r}"
        if event.kind == "call" and event.tool is not None and event.tool in self.tools:
            return f"tool {event.tool!r}"
        if self.hashes and event.content_hash in self.hashes:
            return f"content {event.content_hash[:16]}"
        return None


@dataclass(frozen=True, slots=True)
class Policy:
    """How a guard decides.

    Attributes:
        on_error: Decision where an event can't be scored. `allow` lets it out unguarded.
        mode: `shadow` decides and records, and lets everything out.
        calls: Whether tool calls are checked as well as answers.
        explain: Whether a verdict that holds something back tells which edges drove it. That takes
            a score without each edge.
        allowed: What passes unchecked.
        safe_message: What goes out in the place of an answer that is refused.

    Raises:
        SettingsError: A value is not one of those above.
    """

    on_error: OnError = "block"
    mode: Mode = "enforce"
    calls: bool = False
    explain: bool = True
    allowed: AllowList = field(default_factory=AllowList)
    safe_message: str = SAFE_MESSAGE

    def __post_init__(self) -> None:
        """Hold every value to those it may have."""
        for name, kind in (("on_error", OnError), ("mode", Mode)):
            value, known = getattr(self, name), get_args(kind)
            if value not in known:
                raise SettingsError(f"{name}: expected {' or '.join(known)}, got {value!r}")
        for name in ("calls", "explain"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name}: expected true or false, got {getattr(self, name)!r}")
        if not self.safe_message.strip():
            raise SettingsError("safe_message: expected some text, got an empty one")

    def passed_over(self, event: Event) -> str | None:
        """Why an event is not checked, in words; None where it is."""
        if (entry := self.allowed.entry(event)) is not None:
            return f"let through by the allow-list: {entry}"
        if event.kind == "call" and not self.calls:
            return "tool calls are not checked"
        return None
