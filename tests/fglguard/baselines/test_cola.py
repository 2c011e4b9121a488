"""Subgraphs against loops, and scores computed by hand on three nodes in a row."""

import math

import numpy as np
import pytest
import torch

from fglguard.baselines.cola import SubgraphContrast, ego_networks
from fglguard.baselines.convolution import undirected
from fglguard.packed_graphs import collate


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_subgraphs_equal_loops_over_nodes(random_graphs) -> None:
    batch = collate(random_graphs(7, 2, count=6))
    n = len(batch.x)
    linked = np.zeros((n, n), bool)
    linked[batch.dst.numpy(), batch.src.numpy()] = True
    linked |= linked.T
    members = [(t, m) for t in range(n) for m in range(n) if linked[t, m]]
    edges = {
        ((t, a), (t, b)) for t, a in members for b in range(n) if linked[t, b] and linked[a, b]
    }
    egos = ego_networks(undirected(batch))
    assert list(zip(egos.target.tolist(), egos.member.tolist(), strict=True)) == members
    found = [
        (members[d], members[s]) for s, d in zip(egos.src.tolist(), egos.dst.tolist(), strict=True)
    ]
    assert len(found) == len(set(found))
    assert set(found) == edges


def test_scores_of_three_nodes_in_a_row(path_graph) -> None:
    """By hand, x = (1, 5, 2) and weights that pass on one unit. Node 0's subgraph is {0, 1}, its
    own row zero: S = 1/2 everywhere, so e_0 = 5/2; likewise e_2 = 5/2. Node 1's is the whole row
    with (1, 0, 2): S x = (1/2, 3/sqrt(6), 1), so e_1 = (3/2 + 3/sqrt(6)) / 3. z = x. The foreign
    subgraphs are 0 and 1, of which D is 1/2 and sigmoid(x_i).
    """
    guard = SubgraphContrast(1, 0)
    with torch.no_grad():
        for weight in (guard.weight, guard.bilinear):
            weight.zero_()
            weight[0, 0] = 1
        guard.memory = torch.zeros(2, guard.weight.shape[0])
        guard.memory[1, 0] = 1
    x = (1, 5, 2)
    e = (5 / 2, (3 / 2 + 3 / math.sqrt(6)) / 3, 5 / 2)
    expected = [(1 / 2 + sigmoid(x[i])) / 2 - sigmoid(x[i] * e[i]) for i in range(3)]
    assert guard.anomaly(collate(path_graph(x))).tolist() == pytest.approx(expected, abs=1e-6)


def test_loss_of_an_untrained_discriminator_is_log_2(path_graph) -> None:
    """D = 1/2 for every pair, and there is no foreign subgraph in a batch of one graph."""
    guard = SubgraphContrast(1, 0)
    with torch.no_grad():
        guard.bilinear.zero_()
    assert guard.loss(collate(path_graph([1, 2, 3]))).item() == pytest.approx(math.log(2))
