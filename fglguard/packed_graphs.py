"""Many graphs in few arrays, and batches of them as a detector sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fglguard.graph import EpisodeGraph
from fglguard.hashed_text import SparseRows
from fglguard.segments import joined_offsets, segment_rows
from fglguard.utterances import (
    UtteranceBatch,
    Utterances,
    collate_utterances,
    concatenate_utterances,
)

if TYPE_CHECKING:
    import torch

NODE_ARRAYS = ("x", "kind", "flow")
"""Fields of `PackedGraphs` with one row a node."""
EDGE_ARRAYS = ("src", "dst", "edge")
"""Those with one row an edge."""
GRAPH_ARRAYS = ("final", "label")
"""Those with one row a graph."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedGraphs:
    """Many graphs in few arrays; the arrays may be memory-mapped.

    Attributes:
        x: [N, d] float32, the nodes of graph 0, then of graph 1, ...
        kind: [N] uint8, index into `AGENT_KINDS`.
        src: [E] int32, node index **within its graph**.
        dst: [E] int32, likewise.
        edge: [E, d] float32, the features of an edge; [E, 0] if edges carry none.
        flow: [N, F] float32, information-flow features; [N, 0] if nodes carry none.
        text_offsets: [N + 1] int64; node n's hashed text has entries text_offsets[n] :
            text_offsets[n + 1]; all 0 if nodes carry none.
        text_columns: [entries] int32.
        text_values: [entries] float32.
        node_offsets: [G + 1] int64; graph g owns nodes node_offsets[g] : node_offsets[g + 1].
        edge_offsets: [G + 1] int64, likewise for edges.
        final: [G] int32, node index within the graph.
        label: [G] int8; 1 unsafe, 0 safe, -1 unknown.
        utterances: What the nodes said, as token ids; None if nodes carry none.
    """

    x: NDArray[np.float32]
    kind: NDArray[np.uint8]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    edge: NDArray[np.float32]
    flow: NDArray[np.float32]
    text_offsets: NDArray[np.int64]
    text_columns: NDArray[np.int32]
    text_values: NDArray[np.float32]
    node_offsets: NDArray[np.int64]
    edge_offsets: NDArray[np.int64]
    final: NDArray[np.int32]
    label: NDArray[np.int8]
    utterances: Utterances | None = None

    def __len__(self) -> int:
        return len(self.final)

    @property
    def dimension(self) -> int:
        """Width d of a node's features."""
        return int(self.x.shape[1])

    @property
    def nodes(self) -> NDArray[np.int64]:
        """[G] number of nodes of each graph."""
        return np.diff(self.node_offsets)

    def select(self, indices: NDArray[np.integer[Any]] | Sequence[int]) -> PackedGraphs:
        """A copy of some graphs, in the order asked for."""
        chosen = np.asarray(indices, dtype=np.int64)
        node_rows, node_offsets = segment_rows(self.node_offsets, chosen)
        edge_rows, edge_offsets = segment_rows(self.edge_offsets, chosen)
        rows = {NODE_ARRAYS: node_rows, EDGE_ARRAYS: edge_rows, GRAPH_ARRAYS: chosen}
        arrays: dict[str, NDArray[Any]] = {
            name: getattr(self, name)[some] for names, some in rows.items() for name in names
        }
        entries, text_offsets = segment_rows(self.text_offsets, node_rows)
        return PackedGraphs(
            **arrays,
            text_offsets=text_offsets,
            text_columns=self.text_columns[entries],
            text_values=self.text_values[entries],
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            utterances=None if self.utterances is None else self.utterances.select(node_rows),
        )


def pack(
    graphs: Sequence[EpisodeGraph], labels: Sequence[bool | None] | None = None
) -> PackedGraphs:
    """Pack graphs, in order; without `labels` every label is unknown (-1).

    Raises:
        ValueError: There are no graphs, their widths differ, some have edge features and some
            none, or labels and graphs differ in number.
    """
    if not graphs:
        raise ValueError("graphs: expected at least one, got none")
    if labels is None:
        labels = [None] * len(graphs)
    if len(labels) != len(graphs):
        raise ValueError(f"labels: expected {len(graphs)}, one a graph, got {len(labels)}")
    return PackedGraphs(
        x=np.concatenate([graph.x for graph in graphs]),
        kind=np.concatenate([graph.kind for graph in graphs]),
        src=np.concatenate([graph.src for graph in graphs]),
        dst=np.concatenate([graph.dst for graph in graphs]),
        edge=_features([graph.edge for graph in graphs], [len(graph.src) for graph in graphs]),
        flow=_features([graph.flow for graph in graphs], [len(graph.x) for graph in graphs]),
        **_texts(graphs),
        node_offsets=_offsets([len(graph.x) for graph in graphs]),
        edge_offsets=_offsets([len(graph.src) for graph in graphs]),
        final=np.array([graph.final for graph in graphs], dtype=np.int32),
        label=np.array([-1 if y is None else int(y) for y in labels], dtype=np.int8),
        utterances=_utterances([graph.utterances for graph in graphs]),
    )


def concatenate(parts: Sequence[PackedGraphs]) -> PackedGraphs:
    """All graphs of all parts, in order.

    Raises:
        ValueError: There are no parts, or their widths differ.
    """
    if not parts:
        raise ValueError("parts: expected at least one, got none")
    arrays: dict[str, NDArray[Any]] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in NODE_ARRAYS + EDGE_ARRAYS + GRAPH_ARRAYS
    }
    return PackedGraphs(
        **arrays,
        text_offsets=joined_offsets([part.text_offsets for part in parts]),
        text_columns=np.concatenate([part.text_columns for part in parts]),
        text_values=np.concatenate([part.text_values for part in parts]),
        node_offsets=joined_offsets([part.node_offsets for part in parts]),
        edge_offsets=joined_offsets([part.edge_offsets for part in parts]),
        utterances=_utterances([part.utterances for part in parts]),
    )


def _utterances(parts: Sequence[Utterances | None]) -> Utterances | None:
    said = [part for part in parts if part is not None]
    if not said:
        return None
    if len(said) != len(parts):
        raise ValueError(
            f"graphs: expected token ids in all or in none, got them in {len(said)} of {len(parts)}"
        )
    return concatenate_utterances(said)


def _features(
    parts: Sequence[NDArray[np.float32] | None], rows: Sequence[int]
) -> NDArray[np.float32]:
    """Features of all graphs, [rows, width]; of width 0 where the graphs carry none."""
    features = [part for part in parts if part is not None]
    if not features:
        return np.zeros((sum(rows), 0), dtype=np.float32)
    if len(features) != len(parts):
        raise ValueError(
            f"graphs: expected edge and flow features in all or in none, "
            f"got them in {len(features)} of {len(parts)}"
        )
    return np.concatenate(features)


def _texts(graphs: Sequence[EpisodeGraph]) -> dict[str, NDArray[Any]]:
    empty = (np.zeros(0, np.int32), np.zeros(0, np.float32))
    rows = [
        SparseRows(np.zeros(len(graph.x) + 1, np.int64), *empty)
        if graph.text is None
        else graph.text
        for graph in graphs
    ]
    return {
        "text_offsets": joined_offsets([row.offsets for row in rows]),
        "text_columns": np.concatenate([row.columns for row in rows]),
        "text_values": np.concatenate([row.values for row in rows]),
    }


def _offsets(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *counts], dtype=np.int64)


@dataclass(slots=True, eq=False)
class GraphBatch:
    """What a detector sees: a batch of graphs as one graph of separate components.

    Attributes:
        x: [N, d] float32 node features.
        kind: [N] int64, index into `AGENT_KINDS`.
        src: [E] int64, **batch-wide** node index of the speaker.
        dst: [E] int64, of the hearer. Every node has exactly one self-loop; they come last.
        edge: [E, d] float32 edge features, zeros on self-loops; [E, 0] if edges carry none.
        flow: [N, F] float32 information-flow features; [N, 0] if nodes carry none.
        text_starts: [N] int64, where each node's entries of hashed text begin.
        text_columns: [entries] int64.
        text_values: [entries] float32.
        graph: [N] int64, the graph of a node.
        final: [G] int64, batch-wide index of each graph's final agent.
        label: [G] float32; 1 unsafe, 0 safe, -1 unknown.
        graphs: G.
        utterances: What the nodes said; None if nodes carry no token ids.
    """

    x: torch.Tensor
    kind: torch.Tensor
    src: torch.Tensor
    dst: torch.Tensor
    edge: torch.Tensor
    flow: torch.Tensor
    text_starts: torch.Tensor
    text_columns: torch.Tensor
    text_values: torch.Tensor
    graph: torch.Tensor
    final: torch.Tensor
    label: torch.Tensor
    graphs: int
    utterances: UtteranceBatch | None = None


def collate(
    packed: PackedGraphs, indices: NDArray[np.integer[Any]] | Sequence[int] | None = None
) -> GraphBatch:
    """Gather some graphs (all, if `indices` is None) into one batch, self-loops added."""
    # Here, so that commands which only look at a silo start without torch.
    import torch

    chosen = np.arange(len(packed)) if indices is None else np.asarray(indices, dtype=np.int64)
    node_rows, node_offsets = segment_rows(packed.node_offsets, chosen)
    edge_rows, edge_offsets = segment_rows(packed.edge_offsets, chosen)
    shift = np.repeat(node_offsets[:-1], np.diff(edge_offsets))
    loops = np.arange(len(node_rows))
    entries, text_offsets = segment_rows(packed.text_offsets, node_rows)
    silent = np.zeros((len(loops), packed.edge.shape[1]), dtype=np.float32)
    return GraphBatch(
        x=torch.from_numpy(packed.x[node_rows]),
        kind=torch.from_numpy(packed.kind[node_rows].astype(np.int64)),
        src=torch.from_numpy(np.concatenate((packed.src[edge_rows] + shift, loops))),
        dst=torch.from_numpy(np.concatenate((packed.dst[edge_rows] + shift, loops))),
        edge=torch.from_numpy(np.concatenate((packed.edge[edge_rows], silent))),
        flow=torch.from_numpy(packed.flow[node_rows]),
        text_starts=torch.from_numpy(text_offsets[:-1]),
        text_columns=torch.from_numpy(packed.text_columns[entries].astype(np.int64)),
        text_values=torch.from_numpy(packed.text_values[entries]),
        graph=torch.from_numpy(np.repeat(np.arange(len(chosen)), np.diff(node_offsets))),
        final=torch.from_numpy(packed.final[chosen] + node_offsets[:-1]),
        label=torch.from_numpy(packed.label[chosen].astype(np.float32)),
        graphs=len(chosen),
        utterances=None
        if packed.utterances is None
        else collate_utterances(packed.utterances.select(node_rows)),
    )
