"""Federated fine-tuning against closed forms, and what a mask costs on a task small enough."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from fglguard.errors import PrivacyError, UpdateError
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from privacy.audit.fine_tuning import FineTuning, deal, fine_tune, held_out
from privacy.audit.sentences import sentences, topics
from privacy.audit.text_utility import TextCost, cost_figures, split_texts, text_utility
from privacy.audit.victims import CLASSES
from privacy.roles import Role, parts_of
from privacy.text_task import TextBatch, gradient, task_loss
from scripts.generate_flower_config import composed

TEXTS = sentences(60, seed=4)


def privacy_of(name):
    return RunSettings.from_flat(composed(f"privacy={name}")).privacy


def test_one_round_of_one_step_is_the_mean_gradient(victim_of):
    """theta - lr (g_1 + g_2) / 2 where each site's batch is all that it has."""
    victim = victim_of("gpt2")
    private = victim.batch(TEXTS[:6])
    training = FineTuning(clients=2, rounds=1, batch_size=3, learning_rate=0.2)
    found = fine_tune(victim.model, private, training, privacy_of("none"))
    slopes = [gradient(victim.model, site) for site in deal(private, 2)]
    for name, parameter in victim.model.named_parameters():
        expected = parameter - 0.2 * (slopes[0][name] + slopes[1][name]) / 2
        torch.testing.assert_close(found.get_parameter(name), expected, atol=1e-6, rtol=1e-4)


def test_every_text_goes_to_one_site():
    batch = TextBatch(tuple((n,) for n in range(7)), tuple(range(7)))
    assert [site.labels for site in deal(batch, 3)] == [(0, 3, 6), (1, 4), (2, 5)]


def test_masks_freeze_what_they_freeze_and_leave_the_start_alone(victim_of):
    victim = victim_of("llama")
    before = flatten(victim.model)
    training = FineTuning(clients=2, rounds=2, local_steps=2, batch_size=4)
    trained = fine_tune(victim.model, victim.batch(TEXTS[:20]), training, privacy_of("aegis"))
    assert np.array_equal(before, flatten(victim.model))
    for part in parts_of(trained):
        same = torch.equal(part.parameter, victim.model.get_parameter(part.name))
        assert same is (part.role is Role.ATTENTION_PROJECTION), part.name


def test_the_same_seed_trains_the_same(victim_of):
    victim = victim_of("gpt2")
    training = FineTuning(clients=2, rounds=2, batch_size=4, seed=3)
    private, privacy = victim.batch(TEXTS[:20]), privacy_of("aegis_extended")
    first, again = (flatten(fine_tune(victim.model, private, training, privacy)) for _ in range(2))
    other = dataclasses.replace(training, seed=4)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, flatten(fine_tune(victim.model, private, other, privacy)))


def test_perplexity_is_the_exponential_of_the_mean_loss_of_a_token(victim_of):
    """In one batch that is `task_loss`; 70 texts need two batches."""
    victim = victim_of("opt")
    texts = victim.batch(TEXTS[:9])
    assert held_out(victim.model, texts) == pytest.approx(
        math.exp(task_loss(victim.model, texts).item()), rel=1e-4
    )
    many = TextBatch(texts.texts * 8)
    assert held_out(victim.model, many) == pytest.approx(held_out(victim.model, texts), rel=1e-4)


def test_accuracy_counts_classes_found(victim_of):
    victim = victim_of("bert")
    texts = victim.batch(TEXTS[:8])
    with torch.inference_mode():
        singly = [
            int(victim.model(input_ids=torch.tensor([text])).logits.argmax())
            for text in texts.texts
        ]
    right = TextBatch(texts.texts, (*singly[:6], *((kind + 1) % CLASSES for kind in singly[6:])))
    assert held_out(victim.model, right) == 6 / 8


def test_diverging_is_told(victim_of):
    victim = victim_of("gpt2")
    training = FineTuning(clients=1, rounds=6, batch_size=4, learning_rate=1e20)
    with pytest.raises(UpdateError, match="NaN or infinit"):
        fine_tune(victim.model, victim.batch(TEXTS[:8]), training, privacy_of("none"))


def test_parts_of_a_split_share_no_text(victim_of):
    victim = victim_of("bert")
    split = split_texts(victim, [*TEXTS, TEXTS[0]], topics([*TEXTS, TEXTS[0]], CLASSES))
    parts = [set(part.texts) for part in (split.private, split.validation, split.test)]
    assert [len(part) for part in parts] == [42, 6, 12]
    assert len(set.union(*parts)) == 60
    with pytest.raises(PrivacyError, match="a label for each of 60"):
        split_texts(victim, TEXTS)
    with pytest.raises(PrivacyError, match="at least 10 different texts"):
        split_texts(victim, TEXTS[:9], [0] * 9)


def test_a_sentences_topic_is_its_thing():
    """The sixth word; "invoice" is the first of sixteen things and "report" the third."""
    told = ["the planner sent the old invoice to the bank 1", "a tester sent the old report on 3"]
    assert topics(told, 2) == [0, 0]
    assert topics(told, 4) == [0, 2]


def test_figures_are_ratios_and_differences(victim_of):
    cost = TextCost(10.0, 8.0, 9.0, 8.4, 0.1, 0.3)
    assert cost_figures(victim_of("gpt2"), {"aegis": cost}) == {
        "aegis.perplexity_ratio": 8.4 / 8,
        "aegis.perplexity_ratio.same_rate": 9 / 8,
    }
    found = cost_figures(victim_of("bert"), {"aegis": TextCost(0.3, 0.8, 0.6, 0.7, 0.1, 0.3)})
    assert found["aegis.accuracy_difference"] == pytest.approx(-0.1)
    assert found["aegis.accuracy_difference.same_rate"] == pytest.approx(-0.2)


@pytest.mark.long
def test_more_noise_costs_more(victim_of):
    """From one start; a rate at which training diverges is passed over."""
    victim = victim_of("gpt2")
    split = split_texts(victim, sentences(200))
    training = FineTuning(clients=2, rounds=8)
    masks = {name: privacy_of(name) for name in ("none", "aegis", "aegis_extended")}
    rates = {"none": (0.1, 1e20), "aegis": (0.1,), "aegis_extended": (0.1, 0.001)}
    costs = text_utility(victim, split, training, masks, rates)
    assert costs["aegis"].undefended < costs["aegis"].start
    assert costs["aegis"].undefended_rate == 0.1
    assert costs["aegis"].ratio < costs["aegis_extended"].ratio
    assert costs["aegis_extended"].learning_rate in (0.1, 0.001)
    with pytest.raises(PrivacyError, match="expected none among the masks"):
        text_utility(victim, split, training, {"aegis": masks["aegis"]}, rates)
