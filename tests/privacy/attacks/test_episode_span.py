import numpy as np
import torch

from fglguard.detector import build_detector
from fglguard.packed_graphs import collate
from privacy.attacks.episode_bank import EpisodeBank
from privacy.attacks.episode_span import check_episodes, check_rows, check_utterances
from privacy.attacks.observation import Observation

FIRST = "layers.0.node_projection"
EVERY = f"row space of {FIRST}, every direction"


def seen_with(detector, matrix):
    return Observation(detector, ({FIRST: matrix},))


def test_inputs_of_a_linear_layer_lie_in_its_gradients_row_space(make_graphs):
    """G = sum of d_i x_i^T with three inputs: they lie inside, any other vector by its share.

    e_4 is orthogonal to x = e_1, e_2, e_3, and (e_1 + e_4) / sqrt 2 has 1 / sqrt 2 inside.
    """
    detector = build_detector("paper", 24, seed=0)
    unit = torch.eye(24)
    down = torch.randn(256, 3, generator=torch.Generator().manual_seed(0))
    shares = check_rows(
        seen_with(detector, down @ unit[:3]),
        torch.stack([unit[0], unit[1] - unit[2], unit[3], unit[0] + unit[3]]),
    )
    np.testing.assert_allclose(shares[EVERY], [1, 1, 0, 2**-0.5], atol=1e-6)


def test_a_rank_keeps_the_loudest_directions(make_graphs):
    """G = 10 e_1 e_1^T + e_2 e_2^T: of rank one alone, e_1 is inside and e_2 outside."""
    detector = build_detector("paper", 24, seed=0)
    matrix = torch.zeros(256, 24)
    matrix[0, 0], matrix[1, 1] = 10.0, 1.0
    shares = check_rows(seen_with(detector, matrix), torch.eye(24)[:2])
    np.testing.assert_allclose(shares[f"row space of {FIRST}, 1 direction"], [1, 0], atol=1e-6)
    np.testing.assert_allclose(shares[EVERY], [1, 1], atol=1e-6)


def test_a_real_gradient_names_its_batch(make_graphs):
    """Two agents speak, so that two of 24 directions are inside."""
    graphs = make_graphs(20)
    detector = build_detector("paper", graphs.dimension, seed=0)
    detector(collate(graphs, [7])).sum().backward()
    export = {n: p.grad for n, p in detector.named_parameters() if p.grad is not None}
    seen = Observation(detector, (export,))
    assert check_episodes(seen, EpisodeBank(graphs, ()))[EVERY].argmax() == 7
    found = check_utterances(seen, graphs.x)[EVERY]
    assert set(np.argsort(found)[-2:]) == {14, 15}
    assert found[14] > 1 - 1e-5


def test_without_an_exported_projection_nothing_is_said():
    detector = build_detector("paper", 24, seed=0)
    assert check_rows(Observation(detector, ({},)), torch.eye(24)) == {}
    assert check_rows(seen_with(detector, torch.zeros(256, 24)), torch.eye(24)) == {}
