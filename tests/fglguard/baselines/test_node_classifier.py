"""The supervised peer: its layer against loops, its targets by hand, and what it finds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fglguard.baselines import node_classifier
from fglguard.baselines.node_classifier import (
    HEADS,
    HIDDEN,
    UtteranceAttention,
    fit_node_classifier,
    node_targets,
)
from fglguard.errors import BaselineError
from fglguard.evaluation.metrics import auroc
from fglguard.packed_graphs import collate


def test_layer_equals_loops_over_edges_and_heads(random_graphs) -> None:
    batch = collate(random_graphs(5, 6))
    layer = UtteranceAttention(6, 6, torch.Generator().manual_seed(1))
    found = layer(batch.x, batch).detach().numpy()
    w, u, v = (p.detach().double().numpy() for p in (layer.node, layer.edge, layer.message))
    own = layer.residual.detach().double().numpy()
    s, r, e = layer.attention.detach().double().numpy().reshape(3, HEADS, -1)
    x = batch.x.double().numpy()
    edges = list(zip(batch.src.tolist(), batch.dst.tolist(), strict=True))
    expected = np.zeros((len(x), HEADS, HIDDEN // HEADS))
    for head in range(HEADS):
        part = slice(head * HIDDEN // HEADS, (head + 1) * HIDDEN // HEADS)
        for j in range(len(x)):
            expected[j, head] = (own @ x[j])[part]
            heard = [i for i, receiver in edges if receiver == j != i]
            logits = [
                s[head] @ (w @ x[i])[part] + r[head] @ (w @ x[j])[part] + e[head] @ (u @ x[i])[part]
                for i in heard
            ]
            powers = np.exp(np.array([max(logit, 0.2 * logit) for logit in logits]))
            for i, weight in zip(heard, powers / powers.sum(), strict=True):
                expected[j, head] += weight * ((w + v) @ x[i])[part]
    np.testing.assert_allclose(found, expected.reshape(len(x), -1), atol=1e-5)


def test_targets_are_the_agents_own_labels_or_the_episodes(discussions) -> None:
    """Three episodes with 5 agents each: own labels; none, unsafe; none, unlabelled."""
    train, _ = discussions
    part = train.select([1, 3, 5])
    own = part.node_unsafe.copy()
    own[5:] = -1
    graphs = replace(part.graphs, label=np.array([1, 1, -1], np.int8))
    targets = node_targets(replace(part, node_unsafe=own, graphs=graphs))
    assert targets.tolist() == [*part.node_unsafe[:5].tolist(), *[1] * 5, *[-1] * 5]
    assert sorted(targets[:5].tolist()) == [0, 0, 0, 0, 1]


@pytest.mark.long
def test_attackers_are_found_among_agents_and_episodes(discussions) -> None:
    train, test = discussions
    scores = fit_node_classifier(train, 0)(test)
    assert auroc(scores.node, test.node_unsafe) > 0.95
    assert auroc(scores.episode, test.graphs.label) > 0.95


def test_one_class_of_agents_is_refused(discussions, monkeypatch) -> None:
    monkeypatch.setattr(node_classifier, "descend", None)
    train, _ = discussions
    safe = train.select(np.flatnonzero(train.graphs.label == 0))
    with pytest.raises(BaselineError, match="expected safe and unsafe agents to train on"):
        fit_node_classifier(safe, 0)
    with pytest.raises(BaselineError, match="expected at least 10 training episodes, got 0"):
        fit_node_classifier(train.select([]), 0)
