"""The span check on undefended and masked updates of small models with random weights."""

import pytest

from privacy.attacks.scoring import score_texts
from privacy.attacks.span_check import SpanCheck
from privacy.attacks.suite import paper_attacks
from privacy.audit.observing import observe, observe_null
from privacy.audit.sentences import sentences
from privacy.audit.vocabulary import SPECIAL
from privacy.plans import plan_of
from privacy.signals import Strength

DECODERS = ["gpt2", "llama", "opt", "gpt_neox"]
KINDS = ["attention", "output", "expansion", "contraction", "head"]


def rouge(attack, victim, privacy="none", texts=1, see=observe):
    batch = victim.batch(sentences(texts, seed=5), longest=12)
    seen = see(victim.model, batch, plan_of(privacy), Strength())
    return score_texts(batch.texts, attack(seen), SPECIAL).rouge1


@pytest.mark.long
@pytest.mark.parametrize("family", DECODERS)
@pytest.mark.parametrize("kind", KINDS)
def test_decoder_is_read_exactly(victim_of, family, kind):
    """DAGER's claim: every text of a batch whose tokens are fewer than the layer is wide."""
    assert rouge(SpanCheck(kind), victim_of(family)) >= 0.98


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_quick(victim_of, family):
    assert rouge(SpanCheck("attention"), victim_of(family)) == 1.0


@pytest.mark.parametrize("kind", ["attention", "query", "value", "expansion"])
def test_encoder_is_read_exactly(victim_of, kind):
    assert rouge(SpanCheck(kind), victim_of("bert")) >= 0.98


def test_two_texts_at_once(victim_of):
    assert rouge(SpanCheck("attention"), victim_of("gpt2"), texts=2) >= 0.98


@pytest.mark.parametrize("family", [*DECODERS, "bert"])
def test_paper_masks_leave_the_paper_attack_nothing(victim_of, family):
    for attack in paper_attacks():
        assert rouge(attack, victim_of(family), "aegis") <= 0.005, attack.name


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_contraction_stays_open_to_it(victim_of, family):
    """Three masks close three channels; the second weight of the MLP tells all the same."""
    assert rouge(SpanCheck("contraction"), victim_of(family), "aegis") >= 0.9


def test_noise_alone_holds_no_text(victim_of):
    assert rouge(SpanCheck("contraction"), victim_of("gpt2"), "aegis", see=observe_null) == 0
