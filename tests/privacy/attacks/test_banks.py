"""Candidates ranked by an update: the batch's own texts come first of 20."""

import numpy as np
import pytest

from privacy.attacks.gradient_comparison import BIASES_AND_NORMS, POSITIONS, GradientComparison
from privacy.attacks.median_export import median_export
from privacy.attacks.scoring import score_candidates
from privacy.attacks.sentence_bank import SentenceBank
from privacy.audit.observing import observe
from privacy.audit.sentences import sentences
from privacy.plans import plan_of
from privacy.signals import Strength


def score(attack, victim, privacy="none", exports=1):
    batch = victim.batch(sentences(2, seed=5), longest=12)
    others = victim.encode(sentences(18, seed=6), longest=12)
    seen = observe(victim.model, batch, plan_of(privacy), Strength(), exports=exports)
    members = np.arange(20) < 2
    return score_candidates(attack(seen, (*batch.texts, *others)), members)


@pytest.mark.parametrize("family", ["gpt2", "bert", "llama"])
def test_sentence_bank_hits_every_text(victim_of, family):
    assert score(SentenceBank(), victim_of(family)).recall == 1.0


@pytest.mark.parametrize("family", ["gpt2", "bert"])
@pytest.mark.parametrize(
    "roles", [frozenset(), BIASES_AND_NORMS, POSITIONS], ids=["all", "biases", "positions"]
)
def test_gradient_comparison_finds_members(victim_of, family, roles):
    """An encoder's positions all have texts of one length: they tell less than the rest."""
    found = score(GradientComparison(roles), victim_of(family))
    assert found.auc >= (0.8 if roles == POSITIONS else 0.95)


def test_open_biases_are_compared_without_noise(victim_of):
    """With the three masks biases stay open, and tell as much as before."""

    def attack(seen, candidates):
        return GradientComparison()(median_export(seen), candidates)

    assert score(attack, victim_of("gpt2"), "aegis", exports=2).auc >= 0.95


def test_nothing_exported_scores_nothing(victim_of):
    attack = GradientComparison(BIASES_AND_NORMS)
    assert score(attack, victim_of("gpt2"), "aegis_extended").auc == 0.5
