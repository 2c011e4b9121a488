import numpy as np
import pytest
import torch

from fglguard.episode_rules import AGENT_KINDS
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import GraphBatch, collate, pack
from fglguard.readout import read_out

torch.set_num_threads(1)


def batch_of(*episodes: list[str]) -> GraphBatch:
    """Episodes of agents of these kinds; the first is final, no one hears anyone."""
    return collate(
        pack(
            [
                EpisodeGraph(
                    x=np.zeros((len(kinds), 1), np.float32),
                    kind=np.array([AGENT_KINDS.index(kind) for kind in kinds], np.uint8),
                    agent_ids=tuple(f"a{i}" for i in range(len(kinds))),
                    src=np.zeros(0, np.int32),
                    dst=np.zeros(0, np.int32),
                    final=0,
                )
                for kinds in episodes
            ]
        )
    )


BATCH = batch_of(["user", "agent", "tool", "agent"], ["tool", "user"], ["agent"])
LOGITS = torch.tensor([9.0, 1.0, 8.0, -2.0, 4.0, -1.0, -3.0])


@pytest.mark.parametrize(
    ("readout", "expected"),
    [
        ("final", [9, 4, -3]),
        # Agents 1 and -2; no agent, so the tool's 4 and the user's -1; -3.
        ("mean", [-0.5, 1.5, -3]),
        ("max", [1, 4, -3]),
    ],
)
def test_readouts_by_hand(readout, expected):
    assert read_out(LOGITS, BATCH, readout).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("readout", ["mean", "max"])
def test_gradients_reach_the_agents_that_count(readout):
    """d mean / d logit = 1 / agents; d max / d logit = 1 at the largest."""
    logits = LOGITS.clone().requires_grad_()
    read_out(logits, BATCH, readout).sum().backward()
    expected = {"mean": [0, 0.5, 0, 0.5, 0.5, 0.5, 1], "max": [0, 1, 0, 0, 1, 0, 1]}[readout]
    assert logits.grad.tolist() == pytest.approx(expected)
