"""Events: what an agent system has said, or is about to say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fglguard.episode_rules import AgentKind, MessageKind
from fglguard.errors import EpisodeError, shown


@dataclass(frozen=True, slots=True)
class Event:
    """One utterance, tool call or tool result of a running episode.

    What has been said is observed (`Guard.observe`); what is about to be said is checked first
    (`Guard.check`) and, where it may go out, counts as observed.

    Attributes:
        episode: Id of the episode: a conversation, a ticket, a run of a team.
        sender: Id of who speaks.
        text: What is said; a call's tool and arguments, a result's content.
        receivers: Ids of those that hear it; empty for a thought nobody hears.
        kind: `say`, `call` (of a tool) or `result` (of a call).
        agents: Kind of each id that is new to the episode: `user`, `agent`, `tool` or
            `environment`. Those that are known already may stand here again.
        round: Never falls within an episode. None: an agent that begins to speak, or that goes on
            after somebody else spoke, begins a round; all else belongs to the one that runs.
        id: Yours, unique in the episode: the same event sent twice is then taken once.
        tool: Name of the tool that a call is of, for allow-lists.
    """

    episode: str
    sender: str
    text: str
    receivers: tuple[str, ...] = ()
    kind: MessageKind = "say"
    agents: Mapping[str, AgentKind] = field(default_factory=dict)
    round: int | None = None
    id: str | None = None
    tool: str | None = None

    def __post_init__(self) -> None:
        """Raise EpisodeError for a value of another type; what ids and texts may be comes later."""
        for name in ("episode", "sender", "text", "kind"):
            _check_text(name, getattr(self, name))
        for name in ("id", "tool"):
            if getattr(self, name) is not None:
                _check_text(name, getattr(self, name))
        if isinstance(self.receivers, str) or not isinstance(self.receivers, Sequence):
            raise EpisodeError(f"receivers: expected a list of ids, got {shown(self.receivers)}")
        object.__setattr__(self, "receivers", tuple(self.receivers))
        for place, receiver in enumerate(self.receivers):
            _check_text(f"receivers[{place}]", receiver)
        if not isinstance(self.agents, Mapping):
            raise EpisodeError(f"agents: expected kinds by id, got {shown(self.agents)}")

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text in UTF-8, as allow-lists and verdict logs name it."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise EpisodeError(f"{name}: expected a string, got a {type(value).__name__}")
