"""What baselines train on and score: episodes in every form that one of them needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings, graph_agents
from fglguard.packed_graphs import PackedGraphs, concatenate
from fglguard.silo import Silo


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """G episodes, the same in each form.

    Attributes:
        episodes: The episodes, with their labels and tasks.
        graphs: Their graphs, N nodes in all.
        last_messages: [G, d] float32, the vector of the last message of each final agent; zeros
            if it said nothing.
        node_unsafe: [N] int8, each node's own label; 1 unsafe, 0 safe, -1 unknown.
    """

    episodes: tuple[Episode, ...]
    graphs: PackedGraphs
    last_messages: NDArray[np.float32]
    node_unsafe: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.episodes)

    def select(self, indices: NDArray[np.integer[Any]] | Sequence[int]) -> Samples:
        """A copy of some of them, in the order asked for."""
        chosen = np.asarray(indices, dtype=np.int64)
        offsets = self.graphs.node_offsets
        nodes = [np.arange(offsets[g], offsets[g + 1]) for g in chosen]
        return Samples(
            episodes=tuple(self.episodes[g] for g in chosen),
            graphs=self.graphs.select(chosen),
            last_messages=self.last_messages[chosen],
            node_unsafe=self.node_unsafe[np.concatenate([np.zeros(0, np.int64), *nodes])],
        )


def read_samples(
    silo: Silo,
    indices: NDArray[np.integer[Any]] | Sequence[int],
    encoder_fingerprint: str,
    settings: GraphSettings,
) -> Samples:
    """Read some of a silo's episodes; nothing is encoded anew.

    Raises:
        SiloError: The silo was not embedded or prepared so, or its graphs are not its episodes'.
    """
    chosen = np.asarray(indices, dtype=np.int64)
    graphs = silo.graphs(encoder_fingerprint, settings).select(chosen)
    episodes = tuple(silo.episodes(chosen))
    last = np.zeros((len(chosen), graphs.dimension), dtype=np.float32)
    vectors = silo.message_vectors(encoder_fingerprint, chosen)
    for row, (episode, said) in enumerate(zip(episodes, vectors, strict=True)):
        final = episode.final_agent
        spoken = [m for m, message in enumerate(episode.messages) if message.sender == final]
        if spoken:
            last[row] = said[spoken[-1]]
    labels = [node_labels(episode, settings) for episode in episodes]
    if [len(label) for label in labels] != graphs.nodes.tolist():
        raise SiloError(f"{silo.path}: the graphs do not have the nodes of the episodes")
    return Samples(episodes, graphs, last, np.concatenate([np.zeros(0, np.int8), *labels]))


def join(parts: Sequence[Samples]) -> Samples:
    """All samples of all parts, in order.

    Raises:
        ValueError: There are no parts, or their widths differ.
    """
    return Samples(
        episodes=tuple(episode for part in parts for episode in part.episodes),
        graphs=concatenate([part.graphs for part in parts]),
        last_messages=np.concatenate([part.last_messages for part in parts]),
        node_unsafe=np.concatenate([part.node_unsafe for part in parts]),
    )


def node_labels(episode: Episode, settings: GraphSettings) -> NDArray[np.int8]:
    """`Agent.unsafe` of each node of the episode's graph, -1 where the source has none."""
    unsafe = {agent.id: agent.unsafe for agent in episode.agents}
    agents = graph_agents(episode, settings)
    codes = [-1 if (own := unsafe[agent]) is None else int(own) for agent in agents]
    return np.array(codes, dtype=np.int8)
