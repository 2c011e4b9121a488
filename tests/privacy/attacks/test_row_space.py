"""Row spaces of a linear layer's gradient, whose inputs are known."""

import math

import pytest
import torch

from privacy.attacks.row_space import above_noise, by_rank, by_tolerance, distance


def linear_layer(inputs=5, width=12, outputs=20, seed=0):
    """Inputs x [p, n] and the gradient sum_i g_i x_i^T of a linear layer, by autograd."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(inputs, width, generator=draw)
    weight = torch.randn(outputs, width, generator=draw, requires_grad=True)
    (x @ weight.t()).pow(2).sum().backward()
    return x, weight.grad


def test_span_of_a_linear_layer_holds_exactly_its_inputs():
    """A gradient of p < n inputs has rank p, and only they and their combinations lie within."""
    x, gradient = linear_layer()
    basis = by_tolerance()(gradient, 0.0)
    others = torch.randn(50, 12, generator=torch.Generator().manual_seed(1))
    assert basis.shape == (12, 5)
    assert distance(x, basis).max() < 1e-4
    assert distance(x.sum(0), basis) < 1e-4
    assert distance(others, basis).min() > 0.1


def test_distance_is_the_sine_of_the_angle():
    """(3, 4) to the first axis: 4 / 5. Nothing lies in an empty space."""
    basis = torch.tensor([[1.0], [0.0]])
    assert distance(torch.tensor([3.0, 4.0]), basis).item() == pytest.approx(0.8)
    assert distance(torch.tensor([3.0, 4.0]), basis[:, :0]).item() == pytest.approx(1.0)


def test_full_rank_says_nothing():
    _, gradient = linear_layer(inputs=12)
    assert by_tolerance()(gradient, 0.0).shape == (12, 0)


def test_by_rank_keeps_the_largest():
    basis = by_rank(1)(torch.diag(torch.tensor([1.0, 5.0, 2.0])), 0.0)
    assert basis.abs().squeeze(1).tolist() == pytest.approx([0, 1, 0])


def test_above_noise_is_empty_on_noise_and_finds_a_loud_spike():
    """The edge is sigma (sqrt m + sqrt n) (Bai and Yin): a spike of thrice that leaves it."""
    draw = torch.Generator().manual_seed(0)
    noise = 0.1 * torch.randn(300, 60, generator=draw)
    edge = 0.1 * (math.sqrt(300) + math.sqrt(60))
    spike = torch.zeros(300, 60)
    spike[0, 0] = 3 * edge
    assert above_noise(noise, 0.1).shape[1] <= 1
    basis = above_noise(noise + spike, 0.1)
    assert abs(float(basis[0, 0])) > 0.9


def test_keys_lose_a_rank():
    """sum_i dL/dk_i = 0: of 5 inputs the keys' gradient spans 4 differences and no input."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(5, 12, generator=draw)
    query, key, value = (
        torch.randn(12, 12, generator=draw).div(4).requires_grad_(True) for _ in range(3)
    )
    weights = ((x @ query.t()) @ (x @ key.t()).t()).softmax(dim=-1)
    (weights @ (x @ value.t())).pow(2).sum().backward()
    basis = by_tolerance(1e-5)(key.grad, 0.0)
    assert basis.shape[1] == 4
    assert distance(x, basis).min() > 0.05
    assert distance(x[1:] - x[0], basis).max() < 1e-3
    assert distance(x, by_tolerance(1e-6)(value.grad, 0.0)).max() < 1e-2
