"""Which edges drove a score, where features tell what was said: the episode without each."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from fglguard.detector import Detector
from fglguard.episode import Episode
from fglguard.flow.calls import Lookup
from fglguard.graph import EpisodeGraph, GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.packed_graphs import collate, pack

MOST_EDGES = 200
"""Edges of one graph that are looked at: each has the episode turned into a graph anew."""
MOST_CHARACTERS = 5_000_000
"""Characters that agents of one episode hear in all those graphs, some seconds' work."""


def message_changes(
    detector: Detector,
    episode: Episode,
    settings: GraphSettings,
    lookup: Lookup,
    edges: Sequence[tuple[str, str]],
) -> NDArray[np.float64]:
    r"""What the messages along each edge add to the episode's logit.

        change_ij = logit(episode) - logit(episode without what j heard of i)

    A message that others heard too is still said to them; one that j alone heard is gone, and with
    it the values that came in by it or left in it. Positive where what was said makes the episode
    more suspect.

    Args:
        detector: Left unchanged, in evaluation mode.
        episode: The episode.
        settings: How it becomes a graph.
        lookup: Embeddings of its messages and of `beside_messages`.
        edges: Ids of senders and receivers.

    Returns:
        [e] float64, in order.
    """
    episodes = [episode, *(without_edge(episode, *edge) for edge in edges)]
    batch = collate(pack([_graph(one, settings, lookup) for one in episodes]))
    detector.eval()
    with torch.inference_mode():
        logits = detector.episode_logits(detector(batch), batch).double().numpy()
    changes: NDArray[np.float64] = logits[0] - logits[1:]
    return changes


def without_edge(episode: Episode, sender: str, receiver: str) -> Episode:
    """The episode in which `receiver` heard nothing of `sender`.

    An episode has a message: where none would be left, the first stands as a thought nobody hears.
    """
    kept = []
    for message in episode.messages:
        if message.sender == sender and receiver in message.receivers:
            others = tuple(other for other in message.receivers if other != receiver)
            if not others:
                continue
            message = replace(message, receivers=others)
        kept.append(message)
    return replace(episode, messages=tuple(kept) or (replace(episode.messages[0], receivers=()),))


def affordable_edges(episode: Episode, most: int = MOST_CHARACTERS) -> int:
    """How many edges of an episode are looked at, at least one: fewer where much is said to many.

    Every agent may hear everything, so that a graph takes agents times characters.
    """
    work = len(episode.agents) * sum(len(text) for text in episode.texts)
    return min(MOST_EDGES, max(1, most // work))


def nearest_edges(
    src: NDArray[np.integer], dst: NDArray[np.integer], final: int, most: int
) -> NDArray[np.int64]:
    """Places of the edges to look at, in order: all, or those at the final agent before others."""
    distance = np.where(dst == final, 0, np.where(src == final, 1, 2))
    return np.sort(np.argsort(distance, kind="stable")[:most])


def _graph(episode: Episode, settings: GraphSettings, lookup: Lookup) -> EpisodeGraph:
    return episode_graph(episode, lookup(episode.texts), settings, lookup)
