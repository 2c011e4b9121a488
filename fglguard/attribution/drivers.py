"""What drove a score: the edges of a graph, by what the score would be without each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.attribution.edge_changes import edge_changes
from fglguard.attribution.message_changes import (
    MOST_CHARACTERS,
    affordable_edges,
    message_changes,
    nearest_edges,
)
from fglguard.detector import Detector
from fglguard.episode import Episode
from fglguard.flow.calls import Lookup
from fglguard.graph import GraphSettings
from fglguard.packed_graphs import PackedGraphs

Edges = NDArray[np.int64]


def edge_drivers(
    detector: Detector,
    packed: PackedGraphs,
    row: int,
    names: Sequence[str],
    episode: Episode,
    settings: GraphSettings,
    lookup: Lookup,
    most_characters: int = MOST_CHARACTERS,
) -> tuple[Edges, NDArray[np.float64]]:
    """Places of a graph's edges, and what each adds to the episode's logit.

    Where node features tell what an agent was told, the episode is scored without what was said
    along the edge (`message_changes`); else without the edge (`edge_changes`).

    Args:
        detector: Whose logit.
        packed: Graphs.
        row: Which of them.
        names: Ids of its nodes.
        episode: The episode that it is the graph of.
        settings: How it became one.
        lookup: Embeddings of the episode's texts and of `beside_messages`.
        most_characters: Heard in all the graphs that this takes; it bounds the time.

    Returns:
        [e] places among the graph's edges and [e] changes; of a large episode only those nearest
        to the final agent.
    """
    part = slice(packed.edge_offsets[row], packed.edge_offsets[row + 1])
    src, dst = packed.src[part], packed.dst[part]
    if not (settings.flow or settings.has_text):
        return np.arange(len(src)), edge_changes(detector, packed, row)
    chosen = nearest_edges(
        src, dst, int(packed.final[row]), affordable_edges(episode, most_characters)
    )
    pairs = [(names[src[edge]], names[dst[edge]]) for edge in chosen]
    return chosen, message_changes(detector, episode, settings, lookup, pairs)
