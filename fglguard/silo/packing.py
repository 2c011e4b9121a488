"""Packed graphs of a silo on disk: one folder for each encoder and window."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode
from fglguard.graph import GraphSettings, episode_graph
from fglguard.packed_graphs import PackedGraphs, concatenate, pack
from fglguard.progress import Advance
from fglguard.silo.arrays import make_private_folder, map_array, save_array

GRAPHS = "graphs"
_BLOCK = 1024


def pack_episodes(
    episodes: Iterable[Episode],
    vectors: NDArray[np.float32],
    message_text: NDArray[np.int64],
    settings: GraphSettings,
    advance: Advance,
) -> PackedGraphs:
    """Graphs of all episodes, in order.

    Args:
        episodes: The silo's episodes.
        vectors: [texts, d] one row a distinct text.
        message_text: [messages] row of each message's text, episode by episode.
        settings: The window.
        advance: Called with the number of episodes done.
    """
    parts: list[PackedGraphs] = []
    graphs, labels = [], []
    first = 0
    for episode in episodes:
        last = first + len(episode.messages)
        graphs.append(episode_graph(episode, vectors[message_text[first:last]], settings))
        labels.append(episode.unsafe)
        first = last
        if len(graphs) == _BLOCK:
            parts.append(pack(graphs, labels))
            advance(len(graphs))
            graphs, labels = [], []
    if graphs:
        parts.append(pack(graphs, labels))
        advance(len(graphs))
    return concatenate(parts)


def save_graphs(folder: Path, packed: PackedGraphs) -> list[Path]:
    """Write one array a file; returns the paths."""
    make_private_folder(folder.parent)
    make_private_folder(folder)
    return [
        save_array(folder / f"{field.name}.npy", getattr(packed, field.name))
        for field in fields(packed)
    ]


def map_graphs(folder: Path, graphs: int, dimension: int) -> PackedGraphs:
    """Map the arrays that `save_graphs` wrote.

    Raises:
        SiloError: A file is missing, damaged, or does not fit with the others.
    """
    node_offsets = map_array(folder / "node_offsets.npy", np.int64, (graphs + 1,))
    edge_offsets = map_array(folder / "edge_offsets.npy", np.int64, (graphs + 1,))
    nodes, edges = int(node_offsets[-1]), int(edge_offsets[-1])
    return PackedGraphs(
        x=map_array(folder / "x.npy", np.float32, (nodes, dimension)),
        kind=map_array(folder / "kind.npy", np.uint8, (nodes,)),
        src=map_array(folder / "src.npy", np.int32, (edges,)),
        dst=map_array(folder / "dst.npy", np.int32, (edges,)),
        node_offsets=node_offsets,
        edge_offsets=edge_offsets,
        final=map_array(folder / "final.npy", np.int32, (graphs,)),
        label=map_array(folder / "label.npy", np.int8, (graphs,)),
    )
