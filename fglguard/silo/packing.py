"""Packed graphs of a silo on disk: one folder for each encoder and graph settings."""

from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode
from fglguard.flow.calls import Lookup
from fglguard.graph import EpisodeGraph, GraphSettings, graph_agents
from fglguard.graph_builder import episode_graph
from fglguard.packed_graphs import PackedGraphs, concatenate, pack
from fglguard.progress import Advance
from fglguard.silo.arrays import make_private_folder, map_array, save_array
from fglguard.utterances import ARRAYS, Tokenize, Utterances, arrays_of

GRAPHS = "graphs"
_BLOCK = 1024
_UTTERANCES = "said_"
_TEXT = ("text_offsets", "text_columns", "text_values")


def pack_episodes(
    episodes: Iterable[Episode],
    vectors: NDArray[np.float32],
    message_text: NDArray[np.int64],
    settings: GraphSettings,
    lookup: Lookup,
    advance: Advance,
    tokenize: Tokenize | None = None,
) -> PackedGraphs:
    """Graphs of all episodes, in order.

    Args:
        episodes: The silo's episodes.
        vectors: [texts, d] one row a distinct text.
        message_text: [messages] row of each message's text, episode by episode.
        settings: The window and the features.
        lookup: Embeddings of what is embedded besides the messages.
        advance: Called with the number of episodes done.
        tokenize: Cuts texts into tokens, for graphs that carry them.
    """
    parts: list[PackedGraphs] = []
    graphs, labels = [], []
    first = 0
    before: tuple[Episode, EpisodeGraph] | None = None
    for episode in episodes:
        last = first + len(episode.messages)
        graph = before and _seen_from(episode, *before, settings)
        if graph is None:
            own = vectors[message_text[first:last]]
            graph = episode_graph(episode, own, settings, lookup, tokenize)
        before = episode, graph
        graphs.append(graph)
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


def _seen_from(
    episode: Episode, other: Episode, graph: EpisodeGraph, settings: GraphSettings
) -> EpisodeGraph | None:
    """Another episode's graph with this one's final agent, where all else is alike; else None.

    A team with a label for each agent is stored as one episode an agent, and its flow and text
    features take long.
    """
    if (episode.agents, episode.messages) != (other.agents, other.messages):
        return None
    if graph_agents(episode, settings) != graph.agent_ids:
        return None
    return replace(graph, final=graph.agent_ids.index(episode.final_agent))


def save_graphs(folder: Path, packed: PackedGraphs, settings: GraphSettings) -> list[Path]:
    """Write one array a file, none for features that these graphs lack; returns the paths."""
    make_private_folder(folder.parent)
    make_private_folder(folder)
    arrays = {
        field.name: getattr(packed, field.name)
        for field in fields(packed)
        if field.name != "utterances"
    }
    kept = {
        name: array
        for name, array in arrays.items()
        if (array.ndim == 1 or array.shape[1]) and (settings.has_text or name not in _TEXT)
    }
    if packed.utterances is not None:
        said = arrays_of(packed.utterances)
        kept |= {f"{_UTTERANCES}{name}": array for name, array in said.items()}
    return [save_array(folder / f"{name}.npy", array) for name, array in kept.items()]


def map_graphs(folder: Path, graphs: int, settings: GraphSettings, dimension: int) -> PackedGraphs:
    """Map the arrays that `save_graphs` wrote.

    Args:
        folder: Where.
        graphs: How many.
        settings: What they hold.
        dimension: Width of an utterance's embedding.

    Raises:
        SiloError: A file is missing, damaged, or does not fit with the others.
    """
    node_offsets = map_array(folder / "node_offsets.npy", np.int64, (graphs + 1,))
    edge_offsets = map_array(folder / "edge_offsets.npy", np.int64, (graphs + 1,))
    nodes, edges = int(node_offsets[-1]), int(edge_offsets[-1])
    return PackedGraphs(
        x=map_array(folder / "x.npy", np.float32, (nodes, settings.node_width(dimension))),
        kind=map_array(folder / "kind.npy", np.uint8, (nodes,)),
        src=map_array(folder / "src.npy", np.int32, (edges,)),
        dst=map_array(folder / "dst.npy", np.int32, (edges,)),
        edge=_map_features(folder / "edge.npy", edges, settings.edge_width(dimension)),
        flow=_map_features(folder / "flow.npy", nodes, settings.flow_width),
        **_map_text(folder, nodes, settings),
        node_offsets=node_offsets,
        edge_offsets=edge_offsets,
        final=map_array(folder / "final.npy", np.int32, (graphs,)),
        label=map_array(folder / "label.npy", np.int8, (graphs,)),
        utterances=_map_utterances(folder, nodes) if settings.tokens else None,
    )


def _map_utterances(folder: Path, nodes: int) -> Utterances:
    offsets = _map_said(folder, "offsets", nodes + 1)
    token_offsets = _map_said(folder, "token_offsets", int(offsets[-1]) + 1)
    weights = _map_said(folder, "weights", int(offsets[-1]))
    return Utterances(
        offsets, weights, token_offsets, _map_said(folder, "tokens", int(token_offsets[-1]))
    )


def _map_said(folder: Path, name: str, count: int) -> NDArray[Any]:
    return map_array(folder / f"{_UTTERANCES}{name}.npy", ARRAYS[name], (count,))


def _map_features(path: Path, rows: int, width: int) -> NDArray[np.float32]:
    return map_array(path, np.float32, (rows, width)) if width else np.zeros((rows, 0), np.float32)


def _map_text(folder: Path, nodes: int, settings: GraphSettings) -> dict[str, NDArray[Any]]:
    if not settings.has_text:
        arrays = (np.zeros(nodes + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        return dict(zip(_TEXT, arrays, strict=True))
    offsets = map_array(folder / "text_offsets.npy", np.int64, (nodes + 1,))
    entries = (int(offsets[-1]),)
    return {
        "text_offsets": offsets,
        "text_columns": map_array(folder / "text_columns.npy", np.int32, entries),
        "text_values": map_array(folder / "text_values.npy", np.float32, entries),
    }
