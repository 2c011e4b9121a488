"""MOON's term against its formula, and what must hold of it in the first step."""

import math

import numpy as np
import pytest
import torch

from fglguard.objectives.contrast import PREVIOUS, ModelContrast, graph_means
from fglguard.packed_graphs import collate
from fglguard.parameters import flatten
from fglguard.training import TrainingSettings, train_locally

SEED = (0, 1, 2)
ALL = np.arange(9)


def test_graph_means_are_means_over_each_graphs_nodes(tiny, random_graphs):
    packed = random_graphs(9)
    means = graph_means(collate(packed).x, collate(packed))
    for graph, (start, stop) in enumerate(
        zip(packed.node_offsets[:-1], packed.node_offsets[1:], strict=True)
    ):
        np.testing.assert_allclose(means[graph], packed.x[start:stop].mean(axis=0), atol=1e-6)


def test_the_term_is_the_papers_formula_whatever_the_batch(tiny, random_graphs):
    """-log(e^(cos g / T) / (e^(cos g / T) + e^(cos p / T))), graph by graph, in double precision.

    The batch names graphs 7, 2, 5, which stand in `chosen` at 2, 0, 1.
    """
    packed, now, begin, previous = random_graphs(9), tiny(seed=1), tiny(seed=2), tiny(seed=3)
    objective = ModelContrast(0.8, 0.5, flatten(previous))
    objective.begin(begin, packed, np.array([2, 5, 7]))
    batch = collate(packed, np.array([7, 2, 5]))
    found = objective.term(now.hidden(batch), batch, np.array([2, 0, 1]))

    def z(detector, graph):
        return detector.hidden(collate(packed, np.array([graph]))).detach().double().mean(0).numpy()

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    expected = 0.0
    for graph in (7, 2, 5):
        towards = math.exp(cosine(z(now, graph), z(begin, graph)) / 0.5)
        away = math.exp(cosine(z(now, graph), z(previous, graph)) / 0.5)
        expected -= 0.8 * math.log(towards / (towards + away)) / 3
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_with_the_global_model_for_the_previous_one_it_is_log_two_without_gradient(
    tiny, random_graphs
):
    """So a client's first round, in which there is no previous model, loses nothing by no term."""
    detector, packed = tiny(), random_graphs(9)
    objective = ModelContrast(1.0, 0.5, flatten(detector))
    objective.begin(detector, packed, ALL)
    batch = collate(packed, ALL[::-1])
    term = objective.term(detector.hidden(batch), batch, ALL[::-1].copy())
    assert term.item() == pytest.approx(math.log(2), abs=1e-6)
    (gradient,) = torch.autograd.grad(term, [detector.projection])
    assert gradient.abs().max() < 1e-6


@pytest.mark.parametrize(("weight", "first_round"), [(0.0, False), (1.0, True)])
def test_without_weight_or_previous_model_it_changes_no_bit(
    tiny, random_graphs, weight, first_round
):
    packed, plain, ours = random_graphs(20), tiny(), tiny()
    previous = None if first_round else flatten(tiny(seed=5))
    objective = ModelContrast(weight, 0.5, previous)
    report = train_locally(ours, packed, None, TrainingSettings(), SEED, objective)
    train_locally(plain, packed, None, TrainingSettings(), SEED)
    assert flatten(ours).tobytes() == flatten(plain).tobytes()
    assert report.term == 0
    outcome = objective.finish(ours, flatten(ours))
    assert np.array_equal(outcome.state[PREVIOUS], flatten(ours))
    assert not outcome.exports


def test_it_moves_a_client_from_its_previous_view(tiny, random_graphs):
    """One small SGD step on the term alone lowers it; here through the difference to plain BCE."""
    packed, plain, ours = random_graphs(20), tiny(), tiny()
    settings = TrainingSettings(epochs=1, batch_size=99, learning_rate=1e-2, optimizer="sgd")
    train_locally(plain, packed, None, settings, SEED)
    objective = ModelContrast(5.0, 0.5, flatten(tiny(seed=5)))
    report = train_locally(ours, packed, None, settings, SEED, objective)
    assert report.term > 0
    chosen = np.arange(20)
    batch = collate(packed, chosen)
    terms = [objective.term(d.hidden(batch), batch, chosen).item() for d in (plain, ours)]
    assert terms[1] < terms[0]
