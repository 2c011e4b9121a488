"""From a silo's episode to what a report shows of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fglguard.attribution.drivers import edge_drivers
from fglguard.bundle import Bundle
from fglguard.episode import Episode
from fglguard.episode_rules import AGENT_KINDS
from fglguard.evaluation.report.episode_view import (
    AgentView,
    EdgeView,
    EpisodeView,
    MessageView,
    Why,
)
from fglguard.evaluation.report.flow_view import FlowView, view_flow
from fglguard.flow.calls import Lookup
from fglguard.graph import GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.packed_graphs import PackedGraphs, collate
from fglguard.silo import Silo
from fglguard.training import batch_scores


class EpisodeViewer:
    """Looks at the episodes of one silo with one guard.

    Args:
        silo: Prepared with the guard's encoder and graphs.
        bundle: The guard.

    Attributes:
        packed: The graphs of all episodes.

    Raises:
        SiloError: The silo was not prepared for the guard.
    """

    def __init__(self, silo: Silo, bundle: Bundle) -> None:
        self._silo = silo
        self._bundle = bundle
        self.packed: PackedGraphs = silo.graphs(bundle.encoder_fingerprint, bundle.graph)
        self._lookup: Lookup = silo.lookup(bundle.encoder_fingerprint)

    def threshold(self, row: int) -> float:
        """The threshold that decides on an episode: its domain's own, or the pooled one."""
        domain = self._silo.domains[self._silo.domain[row]]
        return self._bundle.for_domain(domain)[0].threshold

    def view(self, row: int, why: tuple[Why, ...]) -> EpisodeView:
        """The episode with all its text.

        Args:
            row: Its place in the silo.
            why: What makes it worth a look.
        """
        episode = next(self._silo.episodes([row]))
        scores = batch_scores(self._bundle.detector, collate(self.packed, [row]))
        corroborated, threshold = float(scores.corroborated[0]), self.threshold(row)
        names = self._names(episode)
        nodes = slice(self.packed.node_offsets[row], self.packed.node_offsets[row + 1])
        edges, left_out = self._edges(episode, row, names)
        return EpisodeView(
            name=episode.id,
            why=why,
            silo=self._silo.name,
            domain=episode.domain,
            unsafe=episode.unsafe,
            blocked=corroborated >= threshold,
            raw=float(scores.raw[0]),
            corroborated=corroborated,
            threshold=threshold,
            final=int(self.packed.final[row]),
            agents=tuple(
                AgentView(name, AGENT_KINDS[kind], risk)
                for name, kind, risk in zip(
                    names, self.packed.kind[nodes].tolist(), scores.nodes.tolist(), strict=True
                )
            ),
            edges=edges,
            edges_left_out=left_out,
            messages=tuple(
                MessageView(m.round, m.sender, ", ".join(m.receivers), m.kind, m.text)
                for m in episode.messages
            ),
            flow=self._flow(episode),
        )

    def _flow(self, episode: Episode) -> FlowView | None:
        return view_flow(episode, self._lookup) if self._bundle.graph.flow else None

    def _names(self, episode: Episode) -> tuple[str, ...]:
        """Ids of the graph's nodes, which packed graphs do not keep; the window alone tells."""
        vectors = np.zeros((len(episode.messages), 1), dtype=np.float32)
        return episode_graph(episode, vectors, GraphSettings(self._bundle.graph.rounds)).agent_ids

    def _edges(
        self, episode: Episode, row: int, names: Sequence[str]
    ) -> tuple[tuple[EdgeView, ...], int]:
        """The edges, each with its change, and how many are left out."""
        part = slice(self.packed.edge_offsets[row], self.packed.edge_offsets[row + 1])
        src: NDArray[np.int32] = self.packed.src[part]
        dst: NDArray[np.int32] = self.packed.dst[part]
        bundle = self._bundle
        chosen, changes = edge_drivers(
            bundle.detector, self.packed, row, names, episode, bundle.graph, self._lookup
        )
        return _edge_views(src[chosen], dst[chosen], changes), len(src) - len(chosen)


def without_names(views: Sequence[EpisodeView]) -> Iterator[EpisodeView]:
    """The same without utterances and without any name that a site chose."""
    for number, view in enumerate(views, start=1):
        counts: Counter[str] = Counter()
        agents = []
        for agent in view.agents:
            counts[agent.kind] += 1
            agents.append(replace(agent, name=f"{agent.kind} {counts[agent.kind]}"))
        yield replace(
            view,
            name=f"episode {number}",
            silo="",
            agents=tuple(agents),
            messages=None,
            flow=view.flow and replace(view.flow, shown=None),
        )


def _edge_views(
    src: NDArray[np.int32], dst: NDArray[np.int32], changes: NDArray[np.float64]
) -> tuple[EdgeView, ...]:
    rows = zip(src.tolist(), dst.tolist(), changes.tolist(), strict=True)
    return tuple(EdgeView(*row) for row in rows)
