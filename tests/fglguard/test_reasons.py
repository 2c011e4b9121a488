import numpy as np
import pytest

from fglguard.episode_rules import AGENT_KINDS
from fglguard.graph import EpisodeGraph
from fglguard.reasons import reason

KINDS = ("agent", "agent", "tool")
GRAPH = EpisodeGraph(
    x=np.zeros((3, 1), np.float32),
    kind=np.array([AGENT_KINDS.index(kind) for kind in KINDS], np.uint8),
    agent_ids=("boss", "aide", "t"),
    src=np.array([2], np.int32),
    dst=np.array([0], np.int32),
    final=0,
)
"""The boss is final and hears the tool t alone."""


@pytest.mark.parametrize(
    ("readout", "scores", "score", "corroborated", "who"),
    [
        ("final", [0.6, 0.9, 0.1], 0.6, 0.6, "the final agent 'boss'"),
        (
            "final",
            [0.6, 0.9, 0.7],
            0.6,
            0.7,
            "'t', heard by the final agent 'boss' (itself 0.6000),",
        ),
        ("mean", [0.2, 0.9, 0.1], 0.6, 0.6, "the mean of the agents"),
        (
            "mean",
            [0.7, 0.1, 0.2],
            0.4,
            0.7,
            "the final agent 'boss' (the mean of the agents 0.4000)",
        ),
        ("max", [0.2, 0.9, 0.1], 0.9, 0.9, "'aide', the most suspect agent,"),
        (
            "max",
            [0.2, 0.6, 0.8],
            0.6,
            0.8,
            "'t', heard by the final agent 'boss' (the largest of the agents 0.6000),",
        ),
    ],
)
def test_who_decided(readout, scores, score, corroborated, who):
    told = reason(GRAPH, np.array(scores), readout, score, corroborated, 0.65)
    side = "at or above" if corroborated >= 0.65 else "below"
    assert told == f"{who} scores {corroborated:.4f}, {side} the threshold 0.6500"
