"""Features of the nodes and edges of a window of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Message
from fglguard.graph import NodeFeature


def edges(pairs: set[tuple[int, int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Senders and receivers of the pairs (receiver, sender), sorted by (receiver, sender)."""
    ordered = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    return np.ascontiguousarray(ordered[:, 1]), np.ascontiguousarray(ordered[:, 0])


def sent_messages(
    window: Sequence[Message], index: Mapping[str, int]
) -> list[tuple[int, int, int]]:
    """Receiver, sender and place of each message for each other agent that heard it, sorted."""
    return sorted(
        {
            (index[receiver], index[message.sender], place)
            for place, message in enumerate(window)
            for receiver in message.receivers
            if receiver != message.sender
        }
    )


def edge_means(
    vectors: NDArray[np.float32], sent: Sequence[tuple[int, int, int]]
) -> NDArray[np.float32]:
    """Mean over the messages of an edge, edges sorted by (dst, src)."""
    receivers, senders, places = np.array(sent, dtype=np.int64).reshape(-1, 3).T
    if not len(places):
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    new_edge = np.append(True, (np.diff(receivers) != 0) | (np.diff(senders) != 0))
    means, _ = _segment_means(vectors[places], receivers, new_edge)
    return means


def node_features(
    vectors: NDArray[np.float32],
    window: Sequence[Message],
    index: Mapping[str, int],
    feature: NodeFeature,
) -> NDArray[np.float32]:
    """What stands for each node, [n, node width]; see `episode_graph`.

    Args:
        vectors: [messages, d], embeddings of the window's messages.
        window: The messages.
        index: Place of each node by its agent's id.
        feature: Which feature.
    """
    senders = np.array([index[message.sender] for message in window], dtype=np.int64)
    parts = []
    if feature != "last":
        rounds = np.array([message.round for message in window], dtype=np.int64)
        parts.append(_means_of_rounds(vectors, senders, rounds, len(index)))
    if feature != "mean":
        parts.append(_last_utterances(vectors, senders, len(index)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _last_utterances(
    vectors: NDArray[np.float32], senders: NDArray[np.int64], nodes: int
) -> NDArray[np.float32]:
    last = {int(sender): place for place, sender in enumerate(senders)}
    x = np.zeros((nodes, vectors.shape[1]), dtype=np.float32)
    x[list(last.keys())] = vectors[list(last.values())]
    return x


def _means_of_rounds(
    vectors: NDArray[np.float32],
    senders: NDArray[np.int64],
    rounds: NDArray[np.int64],
    nodes: int,
) -> NDArray[np.float32]:
    """Mean over a sender's messages of a round, then over its rounds.

    Segment sums over sorted rows rather than a matrix product: the result does not depend on how
    many threads the linear algebra library uses.
    """
    order = np.lexsort((rounds, senders))
    senders, rounds = senders[order], rounds[order]
    new_turn = np.append(True, (np.diff(senders) != 0) | (np.diff(rounds) != 0))
    turns, speakers = _segment_means(vectors[order], senders, new_turn)
    new_speaker = np.append(True, np.diff(speakers) != 0)
    means, who = _segment_means(turns, speakers, new_speaker)
    x = np.zeros((nodes, vectors.shape[1]), dtype=np.float32)
    x[who] = means
    return x


def _segment_means(
    rows: NDArray[np.float32], keys: NDArray[np.int64], starts_here: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    starts = np.flatnonzero(starts_here)
    counts = np.diff(starts, append=len(rows)).astype(np.float32)
    sums: NDArray[np.float32] = np.add.reduceat(rows, starts, axis=0)
    return sums / counts[:, None], keys[starts]
