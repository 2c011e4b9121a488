"""Victims repeat from a seed, learn, and their gradients obey what trains."""

import pytest
import torch

from fglguard.errors import PrivacyError
from privacy.audit.observing import observe, observe_mean, observe_null
from privacy.audit.sentences import sentences
from privacy.audit.victims import FAMILIES, Size, make_victim, train_victim
from privacy.plans import Operation, plan_of
from privacy.roles import Role, parts_of
from privacy.signals import Strength
from privacy.text_task import TextBatch, gradient

TEXTS = sentences(60)
SMALL = Size(width=32, layers=1, vocabulary=300, positions=24)


@pytest.mark.parametrize("family", FAMILIES)
def test_same_seed_same_weights_and_gradient(family):
    one, two = (make_victim(family, TEXTS, seed=3, size=SMALL) for _ in range(2))
    found = [gradient(victim.model, victim.batch(TEXTS[:2])) for victim in (one, two)]
    assert list(found[0]) == [part.name for part in parts_of(one.model)]
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_training_lowers_the_loss(family):
    victim = make_victim(family, TEXTS, size=SMALL)
    losses = train_victim(victim, TEXTS[:8], steps=60, learning_rate=3e-3)
    assert losses[-1] < 0.8 * losses[0]


def test_padding_changes_nothing(victim_of):
    """A batch's gradient is the mean over its tokens: of two texts, their weighted sum."""
    victim = victim_of("gpt2")
    short, long = victim.encode(["the planner", "a tester stored the old recipe by mistake 5"])
    both = gradient(victim.model, TextBatch((short, long)))
    parts = [gradient(victim.model, TextBatch((text,))) for text in (short, long)]
    counts = [len(short) - 1, len(long) - 1]
    for name, value in both.items():
        mean = sum(n * part[name] for n, part in zip(counts, parts, strict=True)) / sum(counts)
        torch.testing.assert_close(value, mean, atol=1e-5, rtol=1e-4)


def test_frozen_parts_are_not_observed_and_the_model_is_left_alone(victim_of):
    victim = victim_of("llama")
    batch = victim.batch(TEXTS[:1])
    seen = observe(victim.model, batch, plan_of("aegis"), Strength(), exports=2)
    frozen = [p.name for p in parts_of(victim.model) if p.role is Role.ATTENTION_PROJECTION]
    assert not set(frozen) & set(seen.exports[0])
    assert all(parameter.requires_grad for parameter in victim.model.parameters())
    name = "model.embed_tokens.weight"
    assert not torch.equal(seen.exports[0][name], seen.exports[1][name])


def test_null_has_the_masks_noise_and_no_signal(victim_of):
    """Its standard deviation is sigma, and two of them are uncorrelated."""
    victim = victim_of("opt")
    plan = {**plan_of("aegis"), Role.EXPANSION: Operation.FLOOD}
    seen = observe_null(victim.model, victim.batch(TEXTS[:1]), plan, Strength(), exports=2)
    name = "model.decoder.layers.0.fc1.weight"
    first, second = (export[name].flatten() for export in seen.exports)
    assert first.std().item() == pytest.approx(seen.sigma[name], rel=0.05)
    both = torch.stack([first, second])
    assert abs(torch.corrcoef(both)[0, 1].item()) < 0.05


def test_the_mean_of_exports_is_drawn_at_once(victim_of):
    """Of 100 exports a tenth of the noise is left, around the same signal."""
    victim = victim_of("opt")
    name, batch, plan = "model.decoder.layers.0.fc1.weight", victim.batch(TEXTS[:1]), "aegis"
    one = observe(victim.model, batch, plan_of(plan), Strength())
    mean = observe_mean(victim.model, batch, plan_of(plan), Strength(), exports=100)
    assert mean.sigma[name] == pytest.approx(one.sigma[name] / 10)
    left = mean.exports[0][name] - gradient(victim.model, batch)[name]
    assert left.std().item() == pytest.approx(mean.sigma[name], rel=0.05)


def test_errors(victim_of):
    with pytest.raises(PrivacyError, match="expected one of gpt2"):
        make_victim("rnn", TEXTS)
    with pytest.raises(PrivacyError, match="a label for each of 1"):
        gradient(victim_of("bert").model, TextBatch(((2, 9, 3),)))
    with pytest.raises(PrivacyError, match="got an empty"):
        gradient(victim_of("gpt2").model, TextBatch(()))
