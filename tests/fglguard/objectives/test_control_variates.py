"""SCAFFOLD's local rule against the paper's option II and against gradients by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from fglguard.objectives.control_variates import CONTROL, CONTROL_CHANGE, ControlVariates
from fglguard.packed_graphs import collate
from fglguard.parameters import flatten
from fglguard.training import TrainingSettings, train_locally

SEED = (0, 1, 2)
P = 16


@pytest.fixture
def controls():
    random = np.random.default_rng(7)
    return [0.1 * random.standard_normal(P).astype(np.float32) for _ in range(2)]


def test_the_mean_gradient_is_option_two_under_plain_sgd(tiny, random_graphs, controls):
    """Option II of the paper's algorithm 1: c_k+ = c_k - c + (x - y) / (K lr)."""
    server, own = controls
    detector, packed = tiny(), random_graphs(20)
    x = flatten(detector)
    objective = ControlVariates(server, own)
    settings = TrainingSettings(
        epochs=3, batch_size=6, learning_rate=0.3, optimizer="sgd", weight_decay=0.0
    )
    report = train_locally(detector, packed, None, settings, SEED, objective)
    y = flatten(detector)
    outcome = objective.finish(detector, y)
    assert report.steps == 12
    expected = own - server + (x - y) / (12 * 0.3)
    np.testing.assert_allclose(outcome.state[CONTROL], expected, atol=1e-6)
    np.testing.assert_allclose(outcome.exports[CONTROL_CHANGE], expected - own, atol=1e-6)


def gradient(detector, packed):
    batch = collate(packed)
    loss = nn.functional.binary_cross_entropy_with_logits(detector(batch), batch.label[batch.graph])
    parts = torch.autograd.grad(loss, list(detector.parameters()))
    return torch.cat([part.reshape(-1) for part in parts]).numpy()


def test_under_adam_it_is_still_the_mean_of_the_raw_gradients(tiny, random_graphs, controls):
    """One full batch: K = 1, so c_k+ is the gradient at the global model itself."""
    server, own = controls
    detector, packed = tiny(), random_graphs(20)
    expected = gradient(detector, packed)
    objective = ControlVariates(server, own)
    settings = TrainingSettings(epochs=1, batch_size=99, learning_rate=0.1)
    train_locally(detector, packed, None, settings, SEED, objective)
    outcome = objective.finish(detector, flatten(detector))
    np.testing.assert_allclose(outcome.state[CONTROL], expected, atol=1e-6)


def test_adams_step_takes_the_corrected_gradient(tiny, random_graphs, controls):
    """Adam's first step is -lr sign(g - c_k + c)."""
    server, own = controls
    detector, packed = tiny(), random_graphs(20)
    x, g = flatten(detector), gradient(detector, packed)
    settings = TrainingSettings(epochs=1, batch_size=99, learning_rate=0.1, weight_decay=0.0)
    train_locally(detector, packed, None, settings, SEED, ControlVariates(server, own))
    corrected = g - own + server
    assert (np.sign(corrected) != np.sign(g)).any()
    np.testing.assert_allclose(flatten(detector), x - 0.1 * np.sign(corrected), atol=1e-5)


def test_zero_controls_change_no_bit(tiny, random_graphs):
    packed, zeros = random_graphs(20), np.zeros(P, dtype=np.float32)
    plain, controlled = tiny(), tiny()
    settings = TrainingSettings(batch_size=6)
    train_locally(plain, packed, None, settings, SEED)
    train_locally(controlled, packed, None, settings, SEED, ControlVariates(zeros, zeros))
    assert flatten(plain).tobytes() == flatten(controlled).tobytes()


def test_frozen_parameters_keep_the_control_zero(tiny, random_graphs):
    detector, zeros = tiny(), np.zeros(P, dtype=np.float32)
    detector.projection.requires_grad_(False)
    objective = ControlVariates(zeros, zeros)
    train_locally(detector, random_graphs(9), None, TrainingSettings(), SEED, objective)
    control = objective.finish(detector, flatten(detector)).state[CONTROL]
    assert not control[:12].any()
    assert control[12:].all()
