"""FGSSL's term against its formula node by node, and against what must hold at the start."""

import math

import numpy as np
import pytest
import torch

from fglguard.graph import EpisodeGraph
from fglguard.objectives.distillation import EdgeDistillation, edge_log_distribution
from fglguard.packed_graphs import collate, pack
from fglguard.parameters import flatten
from fglguard.training import TrainingSettings, train_locally

SEED = (0, 1, 2)
T = 0.3


def distributions(hidden, packed, graph):
    """P_j over j and those it hears, for each node j of one graph, from the definition."""
    h = hidden.detach().double().numpy()
    h = h / np.linalg.norm(h, axis=1, keepdims=True)
    part = slice(packed.edge_offsets[graph], packed.edge_offsets[graph + 1])
    result = []
    for j in range(len(h)):
        heard = [int(i) for i in packed.src[part][packed.dst[part] == j]] + [j]
        powers = np.array([math.exp(h[i] @ h[j] / T) for i in heard])
        result.append(powers / powers.sum())
    return result


def test_the_term_is_the_mean_divergence_over_nodes_whatever_the_batch(tiny, random_graphs):
    packed, student, teacher = random_graphs(9), tiny(seed=1), tiny(seed=2)
    objective = EdgeDistillation(0.4, T)
    objective.begin(teacher, packed, np.array([2, 5, 7, 8]))
    batch = collate(packed, np.array([7, 2, 8, 5]))
    found = objective.term(student.hidden(batch), batch, np.array([2, 0, 3, 1]))

    divergences = []
    for graph in (7, 2, 8, 5):
        one = collate(packed, np.array([graph]))
        of_teacher = distributions(teacher.hidden(one), packed, graph)
        of_student = distributions(student.hidden(one), packed, graph)
        for p, q in zip(of_teacher, of_student, strict=True):
            divergences.append(float((p * np.log(p / q)).sum()))
    assert len(divergences) == packed.nodes[[7, 2, 8, 5]].sum()
    assert found.item() == pytest.approx(0.4 * np.mean(divergences), abs=1e-6)


def test_a_receiver_with_one_neighbour_by_hand():
    """Node 1 hears node 0; cos(z_0, z_1) = 0, cos(z_1, z_1) = 1, T = 1: P = 1 / (1 + e).

    Node 0 hears no one: its distribution is the self-loop alone, log 1 = 0.
    """
    graph = EpisodeGraph(
        x=np.zeros((2, 1), dtype=np.float32),
        kind=np.zeros(2, dtype=np.uint8),
        agent_ids=("a", "b"),
        src=np.array([0], dtype=np.int32),
        dst=np.array([1], dtype=np.int32),
        final=1,
    )
    hidden = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
    found = edge_log_distribution(hidden, collate(pack([graph], [True])), 1.0)
    expected = [-math.log(1 + math.e), 0.0, 1 - math.log(1 + math.e)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_small_temperature_does_not_overflow(tiny, random_graphs):
    batch = collate(random_graphs(9))
    found = edge_log_distribution(tiny().hidden(batch), batch, 1e-4)
    assert found.isfinite().all()


def test_at_the_global_model_it_is_zero_without_gradient(tiny, random_graphs):
    """Teacher and student are one, in any order of graphs."""
    detector, packed, order = tiny(), random_graphs(9), np.random.default_rng(0).permutation(9)
    objective = EdgeDistillation(1.0, T)
    objective.begin(detector, packed, np.arange(9))
    batch = collate(packed, order)
    term = objective.term(detector.hidden(batch), batch, order)
    assert abs(term.item()) < 1e-6
    (gradient,) = torch.autograd.grad(term, [detector.projection])
    assert gradient.abs().max() < 1e-6


def test_it_holds_a_client_nearer_to_the_global_models_relations(tiny, random_graphs):
    packed, chosen = random_graphs(20), np.arange(20)
    batch, left = collate(packed), []
    for weight in (0.0, 20.0):
        detector, judge = tiny(), EdgeDistillation(1.0, T)
        judge.begin(detector, packed, chosen)
        settings = TrainingSettings(epochs=20, batch_size=99, learning_rate=0.1, optimizer="sgd")
        objective = EdgeDistillation(weight, T)
        train_locally(detector, packed, None, settings, SEED, objective)
        left.append(judge.term(detector.hidden(batch), batch, chosen).item())
    assert 0 < left[1] < 0.5 * left[0]


def test_without_weight_it_changes_no_bit(tiny, random_graphs):
    packed, plain, ours = random_graphs(20), tiny(), tiny()
    train_locally(plain, packed, None, TrainingSettings(), SEED)
    train_locally(ours, packed, None, TrainingSettings(), SEED, EdgeDistillation(0.0, T))
    assert flatten(ours).tobytes() == flatten(plain).tobytes()
