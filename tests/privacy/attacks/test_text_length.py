"""A text's length from the rows of its position embedding."""

import pytest

from privacy.attacks.text_length import text_length
from privacy.audit.observing import observe
from privacy.plans import plan_of
from privacy.signals import Strength


@pytest.mark.parametrize("family", ["gpt2", "bert", "opt"])
def test_open_positions_give_the_length_away(victim_of, family):
    victim = victim_of(family)
    batch = victim.batch(["the planner sent the report", "our agent signed"])
    seen = observe(victim.model, batch, plan_of("aegis"), Strength())
    assert text_length(victim.model, seen.exports[0]) == len(batch.texts[0])


def test_frozen_positions_do_not(victim_of):
    victim = victim_of("gpt2")
    batch = victim.batch(["the planner sent the report"])
    seen = observe(victim.model, batch, plan_of("aegis_extended"), Strength())
    assert text_length(victim.model, seen.exports[0]) is None
