"""Episodes worth a look, as a report shows them, with or without their text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fglguard.bundle import Bundle
from fglguard.corpora.splits import SPLITS
from fglguard.episode import Episode
from fglguard.episode_rules import AGENT_KINDS
from fglguard.evaluation.report.influence import edge_changes
from fglguard.graph import episode_graph
from fglguard.packed_graphs import PackedGraphs, collate
from fglguard.silo import Silo
from fglguard.training import batch_scores, score_graphs

Why = Literal["most suspicious", "missed", "false alarm"]
EACH = 3
"""How many episodes of each sort are shown."""
MOST_SCORED = 4000
"""From more test episodes, so many are looked at, evenly spaced."""


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
    """An edge between two agents, by their places, and what it adds to the final logit."""

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
        raw: The final agent's own score.
        corroborated: The score that the threshold is compared with.
        threshold: tau.
        final: Place of the final agent.
        agents: The graph's agents.
        edges: The graph's edges.
        messages: The utterances; None where text stays out.
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
    messages: tuple[MessageView, ...] | None


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


def view_episodes(
    silos: Sequence[Silo], bundle: Bundle, *, with_text: bool, each: int = EACH
) -> EpisodeViews:
    """Score the silos' test splits and choose what is worth a look.

    The highest scores, the missed (unsafe, below tau; lowest first) and the false alarms (safe, at
    or above tau; highest first), `each` of each sort; no episode is shown twice.

    Args:
        silos: Where episodes are, prepared with the guard's encoder and window.
        bundle: The guard.
        with_text: Whether utterances and the names that a site chose go along: ids of agents
            (tools among them), episodes and silos.
        each: How many of each sort.

    Raises:
        SiloError: A silo was not prepared, or is damaged.
    """
    rows = [np.flatnonzero(silo.split == SPLITS.index("test")) for silo in silos]
    held = sum(map(len, rows))
    if held > MOST_SCORED:
        rows = [found[:: -(-held // MOST_SCORED)] for found in rows]
    packed = [silo.graphs(bundle.encoder_fingerprint, bundle.graph) for silo in silos]
    scores = [score_graphs(bundle.detector, p, r) for p, r in zip(packed, rows, strict=True)]
    at = [(s, int(row)) for s, found in enumerate(rows) for row in found]
    corroborated = np.concatenate([part.corroborated for part in scores] or [np.zeros(0)])
    label = np.array([int(silos[s].label[row]) for s, row in at], dtype=np.int64)
    chosen = choose(corroborated, label, corroborated >= bundle.calibration.threshold, each)
    shown = [
        _view(silos[at[i][0]], packed[at[i][0]], at[i][1], bundle, why) for i, why in chosen.items()
    ]
    if not with_text:
        shown = list(_nameless(shown))
    return EpisodeViews(tuple(shown), len(at), held)


def choose(
    corroborated: NDArray[np.float64],
    label: NDArray[np.int64],
    blocked: NDArray[np.bool_],
    each: int,
) -> dict[int, tuple[Why, ...]]:
    """Which episodes are worth a look, and why; sorts in order, ties by the episodes' order."""
    descending = np.argsort(-corroborated, kind="stable")
    ascending = np.argsort(corroborated, kind="stable")
    missed = (label == 1) & ~blocked
    alarms = (label == 0) & blocked
    orders: tuple[tuple[Why, NDArray[np.int64]], ...] = (
        ("most suspicious", descending),
        ("missed", ascending[missed[ascending]]),
        ("false alarm", descending[alarms[descending]]),
    )
    chosen: dict[int, tuple[Why, ...]] = {}
    for why, order in orders:
        new = [index for index in order.tolist() if index not in chosen][:each]
        chosen |= dict.fromkeys(new, (why,))
    for index, (why,) in list(chosen.items()):
        # The most suspicious may be a false alarm too, or missed where tau is higher still.
        also: Why = "missed" if missed[index] else "false alarm"
        if (missed[index] or alarms[index]) and why != also:
            chosen[index] = (why, also)
    return chosen


def _view(
    silo: Silo, packed: PackedGraphs, row: int, bundle: Bundle, why: tuple[Why, ...]
) -> EpisodeView:
    episode = next(silo.episodes([row]))
    risks = batch_scores(bundle.detector, collate(packed, [row])).nodes.tolist()
    scores = score_graphs(bundle.detector, packed, np.array([row]))
    part = slice(packed.edge_offsets[row], packed.edge_offsets[row + 1])
    kinds = packed.kind[packed.node_offsets[row] : packed.node_offsets[row + 1]].tolist()
    corroborated = float(scores.corroborated[0])
    threshold = bundle.calibration.threshold
    changes = edge_changes(bundle.detector, packed, row).tolist()
    edges = zip(packed.src[part].tolist(), packed.dst[part].tolist(), changes, strict=True)
    return EpisodeView(
        name=episode.id,
        why=why,
        silo=silo.name,
        domain=episode.domain,
        unsafe=episode.unsafe,
        blocked=corroborated >= threshold,
        raw=float(scores.raw[0]),
        corroborated=corroborated,
        threshold=threshold,
        final=int(packed.final[row]),
        agents=tuple(
            AgentView(name, AGENT_KINDS[kind], risk)
            for name, kind, risk in zip(_agent_ids(episode, bundle), kinds, risks, strict=True)
        ),
        edges=tuple(EdgeView(*edge) for edge in edges),
        messages=tuple(
            MessageView(m.round, m.sender, ", ".join(m.receivers), m.kind, m.text)
            for m in episode.messages
        ),
    )


def _agent_ids(episode: Episode, bundle: Bundle) -> tuple[str, ...]:
    """Ids of the graph's nodes, which packed graphs do not keep; vectors play no part in them."""
    vectors = np.zeros((len(episode.messages), 1), dtype=np.float32)
    return episode_graph(episode, vectors, bundle.graph).agent_ids


def _nameless(views: Sequence[EpisodeView]) -> Iterator[EpisodeView]:
    """The same without utterances and without any name that a site chose."""
    for number, view in enumerate(views, start=1):
        counts: Counter[str] = Counter()
        agents = []
        for agent in view.agents:
            counts[agent.kind] += 1
            agents.append(replace(agent, name=f"{agent.kind} {counts[agent.kind]}"))
        yield replace(view, name=f"episode {number}", silo="", agents=tuple(agents), messages=None)
