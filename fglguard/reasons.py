"""Why a verdict is what it is, in one sentence."""

import numpy as np
from numpy.typing import NDArray

from fglguard.detector_options import Readout
from fglguard.episode_rules import AGENT_KINDS
from fglguard.graph import EpisodeGraph

_AGENT = AGENT_KINDS.index("agent")


def reason(
    graph: EpisodeGraph,
    scores: NDArray[np.float64],
    readout: Readout,
    score: float,
    corroborated: float,
    threshold: float,
) -> str:
    """Whose score decided, and on which side of the threshold it lies; ids of agents are quoted.

    Args:
        graph: The episode's graph.
        scores: Its nodes' scores, [n].
        readout: What the episode's own score is read from.
        score: The episode's own score.
        corroborated: The score that decides, at least `score`.
        threshold: What it is compared with.
    """
    who = (
        _raised_by(graph, scores, readout, score)
        if corroborated > score
        else _own(graph, scores, readout)
    )
    side = "at or above" if corroborated >= threshold else "below"
    return f"{who} scores {corroborated:.4f}, {side} the threshold {threshold:.4f}"


def _own(graph: EpisodeGraph, scores: NDArray[np.float64], readout: Readout) -> str:
    if readout == "final":
        return f"the final agent {graph.agent_ids[graph.final]!r}"
    if readout == "mean":
        return "the mean of the agents"
    agents = np.flatnonzero(graph.kind == _AGENT)
    among = agents if len(agents) else np.arange(len(scores))
    return f"{graph.agent_ids[_largest(scores, among)]!r}, the most suspect agent,"


def _raised_by(
    graph: EpisodeGraph, scores: NDArray[np.float64], readout: Readout, score: float
) -> str:
    heard = graph.src[graph.dst == graph.final]
    suspect = _largest(scores, np.append(graph.final, heard))
    final = graph.agent_ids[graph.final]
    own = {"final": "itself", "mean": "the mean of the agents", "max": "the largest of the agents"}
    aside = f"({own[readout]} {score:.4f})"
    if suspect == graph.final:
        return f"the final agent {final!r} {aside}"
    return f"{graph.agent_ids[suspect]!r}, heard by the final agent {final!r} {aside},"


def _largest(scores: NDArray[np.float64], among: NDArray[np.integer]) -> int:
    return int(among[np.argmax(scores[among])])
