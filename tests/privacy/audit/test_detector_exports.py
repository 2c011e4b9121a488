import copy

import numpy as np
import pytest
import torch

from fglguard.detector import build_detector
from fglguard.parameters import flatten, layout
from fglguard.training import TrainingSettings, train_locally
from privacy.audit.detector_exports import masked_client, noise_alone
from privacy.noise import SeededNoise
from privacy.update_mask import UpdateMask
from tests.privacy.conftest import privacy_settings

TRAINING = TrainingSettings(epochs=2, batch_size=4, optimizer="sgd", learning_rate=0.1)


@pytest.fixture
def client_of(make_graphs):
    def make(mode="fedsgd", name="none", training=TRAINING):
        graphs = make_graphs(6)
        detector = build_detector("paper", graphs.dimension, seed=0)
        return detector, masked_client(
            detector, graphs, mode, training, privacy_settings(name), (0,)
        )

    return make


def test_one_step_of_descent_is_the_gradient(client_of):
    """FedProx with one step of plain descent sends lr times what FedSGD sends."""
    step = TrainingSettings(epochs=1, batch_size=6, optimizer="sgd", learning_rate=0.1)
    step = TrainingSettings(**{**vars(step), "weight_decay": 0.0})
    _, sgd = client_of("fedsgd", training=step)
    _, prox = client_of("fedprox", training=step)
    for name, gradient in sgd.plain.items():
        torch.testing.assert_close(prox.plain[name], 0.1 * gradient, atol=1e-6, rtol=1e-3)


def test_what_decay_alone_does_is_no_part_of_it(make_graphs):
    """Weights of a feature that is 0 in every graph change by decay alone: nothing is left."""
    decaying = TrainingSettings(**{**vars(TRAINING), "weight_decay": 0.5})
    graphs = make_graphs(6)
    graphs.x[:, 0] = 0
    detector = build_detector("paper", graphs.dimension, seed=0)
    client = masked_client(detector, graphs, "fedprox", decaying, privacy_settings(), (0,))
    weights = client.plain["layers.0.node_projection"]
    assert not weights[:, 0].any()
    assert weights[:, 1].all()


@pytest.mark.parametrize("name", ["none", "aegis", "aegis_extended"])
def test_the_attacker_sees_what_a_client_sends(make_graphs, name):
    """As `client.app` masks: sent + idle + mask(trained - sent - idle), with the same noise.

    The same seed draws the same noise, whichever sign the change has; sigma is measured on the same
    numbers, float32's rounding of decay among them.
    """
    decaying = TrainingSettings(**{**vars(TRAINING), "weight_decay": 0.5, "proximal_mu": 0.1})
    graphs = make_graphs(6)
    detector = build_detector("paper", graphs.dimension, seed=0)
    client = masked_client(detector, graphs, "fedprox", decaying, privacy_settings(name), (0,))
    exported, sigma = client.export()
    own = copy.deepcopy(detector)
    mask = UpdateMask(own, privacy_settings(name), SeededNoise((0,)))
    sent = flatten(own)
    report = train_locally(own, graphs, None, decaying, (0,))
    trained, idle = flatten(own), decaying.idle_share(report.steps)
    update = mask.update(sent, trained, idle)
    assert mask.sigma == pytest.approx(sigma, rel=1e-2)
    for place in layout(own):
        if place.name not in exported:
            continue
        still = sent[place.span] * idle
        change = (trained - sent)[place.span] - still
        noise = (update - sent)[place.span] - still - change
        ours = (
            exported[place.name].reshape(-1).numpy() - client.plain[place.name].reshape(-1).numpy()
        )
        loud = max(np.abs(ours).max(), 1e-3)
        np.testing.assert_allclose(noise, ours, atol=5e-3 * loud)


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


def test_noise_alone_has_another_batchs_sizes_and_no_signal(client_of):
    """Both are sums over 256 * 24 numbers of the stranger's sigma and of its open head's norm."""
    _, stranger = client_of(name="aegis")
    seen = noise_alone(stranger, seed=3)
    (noise,) = seen.exports
    name = "layers.0.node_projection"
    export, sigma = stranger.export()
    assert seen.sigma == sigma
    assert float(noise[name].std()) == pytest.approx(sigma[name], rel=0.05)
    open_size = float(export["head_weight"].square().mean().sqrt())
    assert float(noise["head_weight"].std()) == pytest.approx(open_size, rel=0.2)
    cosine = torch.nn.functional.cosine_similarity(
        noise[name].flatten(), stranger.plain[name].flatten(), dim=0
    )
    assert abs(float(cosine)) < 5 / np.sqrt(noise[name].numel())
