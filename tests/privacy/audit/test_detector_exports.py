import numpy as np
import pytest
import torch

from fglguard.detector import build_detector
from fglguard.settings import PrivacySettings
from fglguard.training import TrainingSettings
from privacy.audit.detector_exports import _masked_idle, masked_client, noise_alone

TRAINING = TrainingSettings(epochs=2, batch_size=4, optimizer="sgd", learning_rate=0.1)


def privacy(name="none", level="bbp"):
    return PrivacySettings(
        name=name, mode="delta", level=level, exports=1, kappa=1.0, kept=1.0, minimum_graphs=1
    )


@pytest.fixture
def client_of(make_graphs):
    def make(mode="fedsgd", name="none", training=TRAINING):
        graphs = make_graphs(6)
        detector = build_detector("paper", graphs.dimension, seed=0)
        return detector, masked_client(detector, graphs, mode, training, privacy(name), (0,))

    return make


def test_one_step_of_descent_is_the_gradient(client_of):
    """FedProx with one step of plain descent sends lr times what FedSGD sends."""
    step = TrainingSettings(epochs=1, batch_size=6, optimizer="sgd", learning_rate=0.1)
    step = TrainingSettings(**{**vars(step), "weight_decay": 0.0})
    _, sgd = client_of("fedsgd", training=step)
    _, prox = client_of("fedprox", training=step)
    for name, gradient in sgd.plain.items():
        torch.testing.assert_close(prox.plain[name], 0.1 * gradient, atol=1e-6, rtol=1e-3)


def test_what_decay_alone_does_is_taken_off(client_of):
    """Zero gradients and two steps over six graphs twice: theta (1 - (1 - .1 * .5)^4)."""
    decaying = TrainingSettings(**{**vars(TRAINING), "weight_decay": 0.5})
    detector, client = client_of("fedprox", training=decaying)
    for name, parameter in detector.named_parameters():
        torch.testing.assert_close(client.idle[name], parameter.detach() * (1 - 0.95**4))
    exported, _ = client.export()
    name = "layers.0.node_projection"
    assert torch.equal(exported[name], client.plain[name] - client.idle[name])


def test_the_clients_detector_still_holds_the_global_weights(client_of):
    for mode in ("fedsgd", "fedprox"):
        detector, client = client_of(mode, "aegis")
        for own, sent in zip(client.detector.parameters(), detector.parameters(), strict=True):
            assert torch.equal(own, sent)


def test_exports_differ_by_noise_of_the_size_that_is_told(client_of):
    """The difference of two exports has variance 2 sigma^2; 256 * 24 numbers say it to 2 %."""
    _, client = client_of(name="aegis")
    (first, sigma), (second, _) = client.export(), client.export()
    name = "layers.0.node_projection"
    spread = (first[name] - second[name]).std() / 2**0.5
    assert float(spread) == pytest.approx(sigma[name], rel=0.05)
    assert torch.equal(first["head_weight"], second["head_weight"])  # aegis leaves it open


def test_frozen_parameters_are_not_exported(client_of):
    _, client = client_of(name="aegis_extended")
    exported, _ = client.export()
    assert not any(name.endswith("bias") for name in exported)


def test_averaging_shrinks_the_noise(client_of):
    """Over 64 exports, the mean lies sigma / 8 from what is hidden."""
    _, client = client_of(name="aegis")
    seen = dict(client.observe([1, 64]))
    name = "layers.0.node_projection"
    assert seen[64].sigma[name] == pytest.approx(seen[1].sigma[name] / 8)
    (averaged,) = seen[64].exports
    left = float((averaged[name] - client.plain[name]).std())
    assert left == pytest.approx(seen[64].sigma[name], rel=0.1)


def test_noise_alone_has_the_same_sizes_and_no_signal(client_of):
    _, client = client_of(name="aegis")
    ((_, seen),) = client.observe([1])
    (noise,) = noise_alone(client, seen, seed=3).exports
    name = "layers.0.node_projection"
    assert float(noise[name].std()) == pytest.approx(seen.sigma[name], rel=0.05)
    (export,) = seen.exports
    open_size = float(export["head_weight"].square().mean().sqrt())
    assert float(noise["head_weight"].std()) == pytest.approx(open_size, rel=0.2)
    cosine = torch.nn.functional.cosine_similarity(
        noise[name].flatten(), client.plain[name].flatten(), dim=0
    )
    assert abs(float(cosine)) < 5 / np.sqrt(noise[name].numel())


def test_uniformised_rows_lose_what_is_left_of_decay_in_them(make_graphs):
    """Decay of lengths 1, 2, 4 beside data in the third row alone, which makes it 8.

    The bound is the median of 1, 2, 8, which is 2: rows come out as 1, 2, 2 and decay's share as
    1, 2, 2, so that nothing is left of the rows without data.
    """
    detector = build_detector("small", 8, seed=0)
    idle = torch.zeros_like(detector.text_weight)
    idle[:3, 0] = torch.tensor([1.0, 2.0, 4.0])
    plain = idle.clone()
    plain[2] = 8.0
    expected = _masked_idle(
        detector, {"text_weight": plain}, {"text_weight": idle}, privacy("aegis")
    )
    assert expected["text_weight"][:3, 0].tolist() == [1, 2, 2]
