"""Federated safety guards for LLM multi-agent systems."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fglguard.episode import Agent, Episode, Message
    from fglguard.events import Event
    from fglguard.guard import Guard
    from fglguard.live.intervention import Outcome
    from fglguard.live.limits import Limits
    from fglguard.live.policy import AllowList, Policy
    from fglguard.verdict import Verdict

__version__ = version("fglguard")
__all__ = [
    "Agent",
    "AllowList",
    "Episode",
    "Event",
    "Guard",
    "Limits",
    "Message",
    "Outcome",
    "Policy",
    "Verdict",
    "__version__",
]

_HOMES = {
    "Agent": "fglguard.episode",
    "AllowList": "fglguard.live.policy",
    "Episode": "fglguard.episode",
    "Event": "fglguard.events",
    "Guard": "fglguard.guard",
    "Limits": "fglguard.live.limits",
    "Message": "fglguard.episode",
    "Outcome": "fglguard.live.intervention",
    "Policy": "fglguard.live.policy",
    "Verdict": "fglguard.verdict",
}


def __getattr__(name: str) -> Any:
    # Lazily, so that reading episodes does not pay for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'fglguard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
