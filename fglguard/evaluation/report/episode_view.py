"""An episode as a report shows it, with or without its text."""

from dataclasses import dataclass
from typing import Literal

from fglguard.evaluation.report.flow_view import FlowView

Why = Literal["most suspicious", "missed", "false alarm"]


@dataclass(frozen=True)
class AgentView:
    """One agent of the graph.

    Attributes:
        name: Its id; only kind and number where text stays out, since a site chooses ids.
        kind: What sort of speaker it is.
        risk: Its own score.
    """

    name: str
    kind: str
    risk: float


@dataclass(frozen=True)
class EdgeView:
    """An edge between two agents, by their places, and what it adds to the episode's logit."""

    source: int
    target: int
    change: float


@dataclass(frozen=True)
class MessageView:
    """An utterance; `receivers` as one line."""

    round: int
    sender: str
    receivers: str
    kind: str
    text: str


@dataclass(frozen=True)
class EpisodeView:
    """One episode.

    Attributes:
        name: Its id, or a number where text stays out.
        why: What makes it worth a look.
        silo: Name of the silo that holds it; empty where text stays out.
        domain: Its domain.
        unsafe: Its label, None where there is none.
        blocked: The guard's decision.
        raw: The episode's own score before corroboration: its final agent's, or the mean or the
            largest over its agents where the detector reads that out.
        corroborated: The score that the threshold is compared with: the largest of `raw`, the
            final agent's and those of whom it heard.
        threshold: tau, of the episode's domain where that has its own.
        final: Place of the final agent.
        agents: The graph's agents.
        edges: The graph's edges, or those nearest the final agent where they are very many.
        edges_left_out: How many others there are.
        messages: The utterances; None where text stays out.
        flow: The values that flowed through it; None where the guard's graphs do not tell.
    """

    name: str
    why: tuple[Why, ...]
    silo: str
    domain: str
    unsafe: bool | None
    blocked: bool
    raw: float
    corroborated: float
    threshold: float
    final: int
    agents: tuple[AgentView, ...]
    edges: tuple[EdgeView, ...]
    edges_left_out: int
    messages: tuple[MessageView, ...] | None
    flow: FlowView | None


@dataclass(frozen=True)
class EpisodeViews:
    """Chosen episodes, and how many were looked at out of how many."""

    shown: tuple[EpisodeView, ...]
    scored: int
    held: int

    @property
    def hold_text(self) -> bool:
        """Whether any utterance is in them."""
        return any(view.messages is not None for view in self.shown)

    @property
    def tell_flow(self) -> bool:
        """Whether the guard's graphs tell what flowed through an episode."""
        return any(view.flow is not None for view in self.shown)
