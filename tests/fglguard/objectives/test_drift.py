"""FedDC's local rule against autograd of the objective as the paper writes it."""

import numpy as np
import pytest
import torch
from torch import nn

from fglguard.errors import SettingsError
from fglguard.objectives.control_variates import CONTROL, CONTROL_CHANGE
from fglguard.objectives.drift import CORRECTED, DRIFT, DriftCorrection
from fglguard.packed_graphs import collate
from fglguard.parameters import flatten
from fglguard.training import TrainingSettings, train_locally

SEED = (0, 1, 2)


def test_steps_equal_autograd_of_the_whole_objective(tiny, random_graphs):
    """BCE + (alpha / 2) ||theta + h - w||^2 + <theta, c - c_k> through torch.optim.SGD."""
    random = np.random.default_rng(3)
    server, own, drift = (0.1 * random.standard_normal(16).astype(np.float32) for _ in range(3))
    packed, ours, plain = random_graphs(12), tiny(), tiny()
    w, alpha = flatten(ours), 0.7
    objective = DriftCorrection(alpha, w, server, own, drift)
    settings = TrainingSettings(
        epochs=4, batch_size=99, learning_rate=0.2, optimizer="sgd", weight_decay=0.0
    )
    report = train_locally(ours, packed, None, settings, SEED, objective)
    outcome = objective.finish(ours, flatten(ours))

    optimizer = torch.optim.SGD(plain.parameters(), lr=0.2)
    batch, gradients = collate(packed), []
    for _ in range(4):
        optimizer.zero_grad()
        theta = nn.utils.parameters_to_vector(plain.parameters())
        bce = nn.functional.binary_cross_entropy_with_logits(plain(batch), batch.label[batch.graph])
        parts = torch.autograd.grad(bce, list(plain.parameters()), retain_graph=True)
        gradients.append(torch.cat([part.reshape(-1) for part in parts]).numpy())
        penalty = alpha / 2 * ((theta + torch.tensor(drift - w)) ** 2).sum()
        (bce + penalty + theta @ torch.tensor(server - own)).backward()
        optimizer.step()
    theta = flatten(plain)
    np.testing.assert_allclose(flatten(ours), theta, atol=2e-6)
    np.testing.assert_allclose(outcome.state[DRIFT], drift + theta - w, atol=2e-6)
    np.testing.assert_allclose(outcome.exports[CORRECTED], 2 * theta + drift - w, atol=4e-6)
    np.testing.assert_allclose(outcome.state[CONTROL], np.mean(gradients, axis=0), atol=1e-6)
    np.testing.assert_allclose(
        outcome.exports[CONTROL_CHANGE], np.mean(gradients, axis=0) - own, atol=1e-6
    )
    assert report.proximal == pytest.approx(alpha / 2 * np.sum((theta + drift - w) ** 2), rel=1e-4)
    assert report.update_norm == pytest.approx(np.linalg.norm(theta - w), rel=1e-4)


def test_a_huge_alpha_holds_the_client_at_the_corrected_anchor_under_adam(tiny, random_graphs):
    """theta -> w - h_k, so theta + h_k+ = theta + h_k + theta - w -> theta."""
    detector, zeros = tiny(), np.zeros(16, dtype=np.float32)
    w, drift = flatten(detector), np.full(16, 0.5, dtype=np.float32)
    objective = DriftCorrection(1e9, w, zeros, zeros, drift)
    train_locally(detector, random_graphs(9), None, TrainingSettings(), SEED, objective)
    np.testing.assert_allclose(flatten(detector), w - drift, atol=1e-5)
    outcome = objective.finish(detector, flatten(detector))
    np.testing.assert_allclose(outcome.exports[CORRECTED], w - drift, atol=1e-5)
    np.testing.assert_allclose(outcome.state[DRIFT], 0, atol=1e-5)


def test_a_second_pull_is_refused(tiny, random_graphs):
    detector, zeros = tiny(), np.zeros(16, dtype=np.float32)
    objective = DriftCorrection(0.1, flatten(detector), zeros, zeros, zeros)
    settings = TrainingSettings(proximal_mu=0.1)
    with pytest.raises(SettingsError, match="proximal_mu: expected 0 beside an objective"):
        train_locally(detector, random_graphs(9), None, settings, SEED, objective)
