"""Comparison through the mask, by hand, by brute force, and on a clipped bank under noise."""

import numpy as np
import pytest
import torch
from torch import nn

from privacy.attacks.masked_comparison import MaskedComparison, compare_masked
from privacy.attacks.masked_rows import MaskedRows
from privacy.attacks.observation import Observation
from privacy.attacks.scoring import score_candidates
from privacy.audit.observing import observe
from privacy.audit.sentences import sentences
from privacy.plans import plan_of
from privacy.signals import Strength


def part(rows, factors=None, sigma=1.0):
    count = len(rows)
    scale = torch.ones(count) if factors is None else torch.tensor(factors)
    return MaskedRows(rows, scale.double(), torch.full((count,), sigma, dtype=torch.float64))


def see(values, sigma):
    return Observation(nn.Linear(1, 1), (values,), sigma)


def test_likelihood_ratio_by_hand():
    """v = (3, 4), sigma 2. Of u = (2, 0), (6 - 2) / 4 = 1; of .5 (0, 2), (4 - .5) / 4 = .875."""
    masked = {"w": part(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), [1.0, 0.5], 2.0)}
    found = compare_masked(see({"w": torch.tensor([3.0, 4.0])}, {"w": 2.0}), masked, 1)
    assert found["likelihood ratio"].tolist() == pytest.approx([1.0, 0.875])


def test_the_better_label_counts():
    """One candidate, labels u = 1 and u = -1, v = 3, sigma 1: 3 - .5 and -3 - .5."""
    masked = {"w": part(torch.tensor([[1.0], [-1.0]]))}
    found = compare_masked(see({"w": torch.tensor([3.0])}, {"w": 1.0}), masked, 2)
    assert found["likelihood ratio"].tolist() == pytest.approx([2.5])


def test_centred_cosine_against_the_definition():
    """Recomputed from vectors over two parts, each over its sigma; but for the export's length.

    Six rows are three candidates under two labels, whose two means are projected out of all.
    """
    draw = torch.Generator().manual_seed(0)
    rows = {name: torch.randn(6, size, generator=draw) + 2 for name, size in (("a", 3), ("b", 4))}
    values = {name: torch.randn(own.shape[1], generator=draw) + 2 for name, own in rows.items()}
    sigma = {"a": 0.5, "b": 3.0}
    masked = {name: part(own, sigma=sigma[name]) for name, own in rows.items()}
    u = torch.cat([rows[name] / sigma[name] for name in rows], dim=1)
    v = torch.cat([values[name] / sigma[name] for name in rows])
    basis = torch.linalg.qr(torch.stack([u[0::2].mean(0), u[1::2].mean(0)], dim=1))[0]
    own, left = u - u @ basis @ basis.t(), v - basis @ (basis.t() @ v)
    expected = ((own @ left) / own.norm(dim=1)).view(3, 2).amax(1)
    found = compare_masked(see(values, sigma), masked, 2)
    np.testing.assert_allclose(found["centred cosine"], expected, rtol=1e-4, atol=1e-4)


def test_a_withheld_candidate_scores_no_number_and_leaves_the_others_alone():
    """As `test_likelihood_ratio_by_hand` with a third row."""
    rows = torch.tensor([[2.0, 0.0], [0.0, 2.0], [9.0, 9.0]])
    masked = {"w": part(rows, [1.0, 0.5, float("nan")], 2.0)}
    found = compare_masked(see({"w": torch.tensor([3.0, 4.0])}, {"w": 2.0}), masked, 1)
    assert found["likelihood ratio"][:2].tolist() == pytest.approx([1.0, 0.875])
    assert np.isnan(found["likelihood ratio"][2])
    assert np.isfinite(found["centred cosine"][:2]).all()


def test_nothing_exported_scores_nothing():
    assert compare_masked(see({}, {}), {}, 1) == {}


@pytest.mark.long
@pytest.mark.parametrize("statistic", ["centred cosine", "likelihood ratio"])
@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_a_text_is_found_through_a_clip(victim_of, statistic, family):
    """Every export is clipped to length 1; kappa = 1000 leaves .001 of noise along each u.

    Two of the 12 at an angle a lie 2 sin(a / 2) apart, which is far more than that.
    """
    victim = victim_of(family)
    bank = victim.encode(sentences(12, seed=5), longest=12)
    strength = Strength("dp_scale", kappa=1000.0)
    batch = victim.batch(sentences(12, seed=5)[:1], longest=12)
    seen = observe(victim.model, batch, plan_of("aegis_extended"), strength)
    scores = MaskedComparison(statistic)(seen, bank)
    assert score_candidates(scores, np.arange(12) < 1).recall == 1.0
