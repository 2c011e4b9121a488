"""The size of noise by hand, and what it tells where sigma is measured and where it is not."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from privacy.attacks.masked_rows import MaskedRows
from privacy.attacks.noise_size import NoiseSize, compare_sizes
from privacy.attacks.observation import Observation
from privacy.attacks.remembered_gradients import RememberedGradients
from privacy.attacks.scoring import score_candidates
from privacy.attacks.text_candidates import RememberedMasks
from privacy.audit.observing import observe_mean, observe_null
from privacy.audit.sentences import sentences
from privacy.plans import plan_of
from privacy.roles import Role, parts_of
from privacy.signals import Strength

BANK = 30


def test_scores_by_hand():
    """n = 2, T = 4, r^2 = (9 + 16) / 2 = 12.5.

    Candidate 0: |u|^2 / 2 + 16 / 4 = 8 / 2 + 4 = 8; candidate 1: 0 + 50 / 4 = 12.5, exactly r^2.
    """
    rows = torch.tensor([[2.0, 2.0], [0.0, 0.0]])
    sigmas = torch.tensor([4.0, math.sqrt(50)], dtype=torch.float64)
    masked = {"w": MaskedRows(rows, torch.ones(2, dtype=torch.float64), sigmas)}
    export = {"w": torch.tensor([3.0, -4.0])}
    seen = Observation(nn.Linear(1, 1), (export,), {}, None, averaged=4)
    found = compare_sizes(seen, masked, 1)
    assert found.tolist() == pytest.approx([-2 * (math.log(12.5 / 8) / 2) ** 2, 0.0], abs=1e-6)


def test_open_parts_have_no_noise_to_look_at():
    ones, none = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    seen = Observation(nn.Linear(1, 1), ({"w": torch.ones(2)},))
    assert compare_sizes(seen, {"w": MaskedRows(torch.ones(1, 2), ones, none)}, 1) is None


@pytest.fixture
def scores_of(victim_of):
    """AUC of each of `BANK` texts in turn as a batch of one, and whether it came first."""

    def make(family, privacy, strength, see):
        victim = victim_of(family)
        texts = sentences(2 * BANK, seed=5)
        bank = victim.encode(texts[:BANK], longest=12)
        attack = NoiseSize(RememberedMasks(RememberedGradients(victim.model)))
        found = []
        for number in range(BANK):
            text = texts[BANK + number if see is observe_null else number]
            batch = victim.batch([text], longest=12)
            seen = see(victim.model, batch, plan_of(privacy), strength, exports=1, seed=(0, number))
            scored = score_candidates(attack(seen, bank), np.arange(BANK) == number)
            found.append((scored.auc, scored.recall))
        return np.mean(found, axis=0)

    return make


@pytest.mark.long
@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_a_measured_sigma_names_a_batch_of_one(scores_of, family):
    """sigma is known to 1 / sqrt(2 n), a hundredth for n = 4096, and texts' differ by tenths."""
    auc, first = scores_of(family, "aegis", Strength(), observe_mean)
    assert auc > 0.97
    assert first > 0.8


@pytest.mark.long
@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_a_public_sigma_says_nothing(scores_of, family):
    """At kappa .18 signals are .18 sigma long on the whole: chance, .5 within 4 of .29 / sqrt 30.

    .29 is the standard deviation of a uniform rank, which a batch's AUC is by chance.
    """
    auc, _ = scores_of(family, "aegis_extended", Strength("dp_scale", kappa=0.18), observe_mean)
    assert abs(auc - 0.5) < 4 * 0.29 / math.sqrt(BANK)


@pytest.mark.long
def test_the_null_baseline_is_chance_also_for_the_size_of_noise(scores_of):
    """Its sigmas are those of texts that are not in the bank."""
    auc, _ = scores_of("gpt2", "aegis", Strength(), observe_null)
    assert abs(auc - 0.5) < 4 * 0.29 / math.sqrt(BANK)


def test_the_size_is_taken_from_the_export_alone(victim_of):
    """An observation that is told wrong sigmas gives the same scores."""
    victim = victim_of("gpt2")
    texts = sentences(4, seed=5)
    seen = observe_mean(
        victim.model, victim.batch(texts[:1], 12), plan_of("aegis"), Strength(), exports=4
    )
    wrong = Observation(seen.model, seen.exports, {}, seen.defence, seen.averaged)
    bank = victim.encode(texts, longest=12)
    assert np.array_equal(NoiseSize()(seen, bank), NoiseSize()(wrong, bank))
    assert any(
        part.role is Role.EXPANSION and part.name in seen.sigma for part in parts_of(seen.model)
    )
