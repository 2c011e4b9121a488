"""Closed forms of the contrast and of the score."""

import math

import pytest
import torch

from fglguard.baselines import blindguard
from fglguard.baselines.blindguard import CorruptionContrast
from fglguard.packed_graphs import collate


def own_utterance(dimension: int) -> CorruptionContrast:
    """Weights that pass on an agent's own features and nothing else."""
    guard = CorruptionContrast(dimension, 0)
    with torch.no_grad():
        guard.inner.zero_()
        guard.outer.copy_(torch.eye(len(guard.outer)))
        guard.inner[:dimension, :dimension] = torch.eye(dimension)
    return guard


def test_score_is_minus_the_mean_cosine_with_the_others(path_graph) -> None:
    """Two agents agree and one is orthogonal to both: -(1 + 0) / 2 twice, and 0."""
    batch = collate(path_graph([[1, 0], [2, 0], [0, 3]]))
    assert own_utterance(2).anomaly(batch).tolist() == pytest.approx([-0.5, -0.5, 0.0])


def test_an_agent_alone_is_not_odd(random_graphs) -> None:
    graphs = random_graphs(0, 3, count=12)
    alone = next(g for g in range(len(graphs)) if graphs.nodes[g] == 1)
    batch = collate(graphs, [alone])
    guard = CorruptionContrast(3, 0)
    assert guard.anomaly(batch).tolist() == [0.0]
    assert guard.loss(batch) is None


@pytest.mark.parametrize(("share", "terms"), [(0.0, 2), (1.1, 5)])
def test_contrast_of_equal_agents_is_the_log_of_their_number(
    path_graph, monkeypatch, share, terms
) -> None:
    """All cosines are 1, so each of the sum's terms is alike: 2 others, and 3 corrupted ones if
    all are corrupted, by noise of no length.
    """
    monkeypatch.setattr(blindguard, "CORRUPTED", share)
    monkeypatch.setattr(blindguard, "STRENGTH", 0.0)
    loss = own_utterance(1).loss(collate(path_graph([1, 1, 1])))
    assert loss.item() == pytest.approx(math.log(terms))
