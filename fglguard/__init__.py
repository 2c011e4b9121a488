"""Federated safety guards for LLM multi-agent systems."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fglguard.episode import Agent, Episode, Message
    from fglguard.guard import Guard
    from fglguard.verdict import Verdict

__version__ = version("fglguard")
__all__ = ["Agent", "Episode", "Guard", "Message", "Verdict", "__version__"]

_HOMES = {
    "Agent": "fglguard.episode",
    "Episode": "fglguard.episode",
    "Guard": "fglguard.guard",
    "Message": "fglguard.episode",
    "Verdict": "fglguard.verdict",
}


def __getattr__(name: str) -> Any:
    # Lazily, so that reading episodes does not pay for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'fglguard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
