import pytest

from privacy.attacks.gradient_matching import GradientMatching
from privacy.attacks.scoring import score_texts
from privacy.audit.observing import observe
from privacy.audit.vocabulary import SPECIAL
from privacy.plans import plan_of
from privacy.signals import Strength

pytestmark = pytest.mark.long


@pytest.mark.parametrize("prior", [0.0, 0.02])
def test_short_text_is_found_by_optimisation(victim_of, prior):
    """Undefended, most of a short text; by chance one token of 400 in 6 fits."""
    victim = victim_of("gpt2")
    batch = victim.batch(["the planner sent the final invoice"], longest=7)
    seen = observe(victim.model, batch, plan_of("none"), Strength())
    found = GradientMatching(steps=200, prior=prior)(seen)
    assert len(found[0]) == len(batch.texts[0])
    assert score_texts(batch.texts, found, SPECIAL).rouge1 >= 0.6
