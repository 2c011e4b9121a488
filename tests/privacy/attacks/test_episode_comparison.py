import numpy as np
import pytest
import torch

from fglguard.detector import build_detector
from privacy.attacks.episode_bank import CandidateUpdates, EpisodeBank, candidate_gradients
from privacy.attacks.episode_comparison import compare_updates
from privacy.attacks.observation import Observation


def bank_of(graphs, rows):
    return EpisodeBank(graphs, (CandidateUpdates("gradient", {"w": rows}),))


def test_a_members_own_gradient_has_cosine_one(make_graphs):
    """Of a batch of one, the export is the member's own row, whatever it is scaled by."""
    graphs = make_graphs(6)
    detector = build_detector("paper", graphs.dimension, seed=0)
    bank = EpisodeBank(graphs, (candidate_gradients(detector, graphs, "broadcast"),))
    (updates,) = bank.updates
    shapes = {name: p.shape for name, p in detector.named_parameters()}
    # Candidate 3 as safe, label 0: row 2 * 3.
    export = {name: 5 * rows[6].view(shapes[name]) for name, rows in updates.by_name.items()}
    scores = compare_updates(Observation(detector, (export,)), bank)
    for name in shapes:
        assert scores[f"cosine of gradient, {name}"][3] == pytest.approx(1, abs=1e-5)
    for variant in ("summed cosines", "matched filter", "ridge 0.01"):
        assert scores[f"{variant} of gradient"].argmax() == 3


def test_cosines_against_hand_computation(make_graphs):
    r"""Rows (1,0), (0,1), (-1,0), (0,-1) of two candidates with two labels; v = (3, 4).

    Cosines 3/5, 4/5, -3/5, -4/5: candidate 0 scores 4/5, candidate 1 -3/5. The mean row is 0, so
    that centring changes nothing; signs (1, 1) make cosines +-1/sqrt 2.
    """
    graphs = make_graphs(2)
    rows = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    seen = Observation(torch.nn.Linear(1, 1), ({"w": torch.tensor([3.0, 4.0])},))
    scores = compare_updates(seen, bank_of(graphs, rows))
    np.testing.assert_allclose(scores["cosine of gradient, w"], [0.8, -0.6], atol=1e-6)
    np.testing.assert_allclose(scores["centred cosine of gradient, w"], [0.8, -0.6], atol=1e-6)
    np.testing.assert_allclose(scores["signs of gradient, w"], [2**-0.5, -(2**-0.5)], atol=1e-6)


def test_centred_cosine_against_the_definition(make_graphs):
    """Recomputed from centred vectors instead of inner products."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(8, 5, generator=generator) + 2
    export = torch.randn(5, generator=generator) + 2
    mean = rows.mean(0)
    left = export - (export @ mean) / (mean @ mean) * mean
    cosines = torch.nn.functional.cosine_similarity(rows - mean, left.unsqueeze(0))
    seen = Observation(torch.nn.Linear(1, 1), ({"w": export},))
    scores = compare_updates(seen, bank_of(make_graphs(4), rows))
    np.testing.assert_allclose(
        scores["centred cosine of gradient, w"], cosines.view(4, 2).amax(1), atol=1e-5
    )


def test_ridge_finds_both_members_of_a_sum(make_graphs):
    """v = u_1 + u_3 with independent rows: without a ridge, c is 1 there and 0 elsewhere."""
    rows = torch.randn(8, 50, generator=torch.Generator().manual_seed(0))
    seen = Observation(torch.nn.Linear(1, 1), ({"w": rows[2] + rows[6]},))
    scores = compare_updates(seen, bank_of(make_graphs(4), rows))
    assert set(np.argsort(scores["ridge 0.01 of gradient"])[-2:]) == {1, 3}


def test_a_frozen_or_silent_parameter_says_nothing(make_graphs):
    rows = torch.ones(4, 2)
    for export in ({}, {"w": torch.zeros(2)}):
        seen = Observation(torch.nn.Linear(1, 1), (export,))
        assert compare_updates(seen, bank_of(make_graphs(2), rows)) == {}
