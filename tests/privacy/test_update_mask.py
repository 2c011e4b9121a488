import dataclasses
import math

import numpy as np
import pytest
import torch

from fglguard.detector import build_detector
from fglguard.errors import PrivacyError
from fglguard.parameters import flatten, layout
from fglguard.settings import PrivacySettings
from privacy.masks import mask
from privacy.noise import SeededNoise
from privacy.plans import plan_of
from privacy.roles import parts_of
from privacy.signals import Strength
from privacy.update_mask import UpdateMask, without_idle

SETTINGS = PrivacySettings("aegis", "delta", "bbp", 1, 1.0, 1.0, 1.0, 16)


def update_of(detector, seed=0):
    """Global parameters, and some that training might have ended with: statistics stay."""
    sent = flatten(detector)
    change = np.random.default_rng(seed).normal(size=len(sent)).astype(np.float32)
    for place in layout(detector):
        if place.name == "moments":
            change[place.span] = 0
    return sent, sent + change


@pytest.mark.parametrize("preset", ["paper", "recommended", "small"])
@pytest.mark.parametrize("name", ["aegis", "aegis_extended"])
def test_a_change_is_masked_as_its_tensors_are(preset, name) -> None:
    detector = build_detector(preset, 8, seed=0)
    sent, trained = update_of(detector)
    settings = dataclasses.replace(SETTINGS, name=name)
    exported = UpdateMask(detector, settings, SeededNoise((7,))).update(sent, trained)
    parts = [part for part in parts_of(detector) if part.parameter.requires_grad]
    places = {place.name: place for place in layout(detector)}
    tensors = [
        torch.from_numpy((trained - sent)[places[p.name].span].reshape(places[p.name].shape))
        for p in parts
    ]
    expected, _ = mask(parts, tensors, plan_of(name), Strength(), SeededNoise((7,)))
    for part, values in zip(parts, expected, strict=True):
        span = places[part.name].span
        assert np.array_equal(exported[span], sent[span] + values.reshape(-1).numpy())
    frozen = {place.name for place in layout(detector)} - {part.name for part in parts}
    for name_ in frozen:
        assert np.array_equal(exported[places[name_].span], sent[places[name_].span])


def test_none_exports_what_was_trained_and_measures_nothing() -> None:
    detector = build_detector("small", 8, seed=0)
    sent, trained = update_of(detector)
    ours = UpdateMask(detector, dataclasses.replace(SETTINGS, name="none"), SeededNoise((1,)))
    assert ours.update(sent, trained) is trained
    assert ours.figures() == {}


def test_in_gradient_mode_steps_are_masked_and_the_export_is_not_again() -> None:
    detector = build_detector("small", 8, seed=0)
    sent, trained = update_of(detector)
    ours = UpdateMask(detector, dataclasses.replace(SETTINGS, mode="gradient"), SeededNoise((1,)))
    gradients = [torch.ones_like(p) for p in detector.parameters() if p.requires_grad]
    masked = ours.gradients(gradients)
    assert not torch.equal(masked[0], gradients[0])
    assert ours.update(sent, trained) is trained
    delta = UpdateMask(detector, SETTINGS, SeededNoise((1,)))
    assert all(a is b for a, b in zip(delta.gradients(gradients), gradients, strict=True))


def test_the_figures_say_how_far_each_masked_tensor_stands_out() -> None:
    """bbp: s1 / sigma = (m n)^(1/4), whatever the data; for 10 flow weights 10^(1/4) = 1.778, which
    is told as the next power of two."""
    detector = build_detector("small", 8, seed=0)
    sent, trained = update_of(detector)
    ours = UpdateMask(detector, SETTINGS, SeededNoise((1,)))
    ours.update(sent, trained)
    figures = ours.figures()
    assert figures["mask.flow_weight.top_over_sigma"] == 2
    assert all(math.log2(value).is_integer() for value in figures.values())
    assert set(figures) == {
        f"mask.{name}.{kind}_over_sigma"
        for name in ("flow_weight", "text_weight")
        for kind in ("top", "norm")
    }


def test_what_decay_does_stays_outside_of_the_mask() -> None:
    """Rows that only decayed do not count as touched: noise and export are those without decay,
    of which a quarter of what was sent is then taken off."""
    detector = build_detector("small", 8, seed=0)
    generator = np.random.default_rng(1)
    sent, change = flatten(detector), np.zeros_like(flatten(detector))
    for place in layout(detector):
        if place.name != "moments":
            sent[place.span] = generator.normal(size=place.size)
            change[place.span][:8] = 0.01
    left = {}
    for idle in (0.0, -0.25):
        ours = UpdateMask(build_detector("small", 8, seed=0), SETTINGS, SeededNoise((1,)))
        still = np.where(change_possible(detector), sent * np.float32(idle), 0)
        left[idle] = ours.update(sent, sent + change + still, idle) - still, ours.sigma
    assert left[-0.25][1] == pytest.approx(left[0.0][1], rel=1e-3)
    assert left[-0.25][0] == pytest.approx(left[0.0][0], abs=1e-3)


@pytest.mark.parametrize(("decay", "steps"), [(1e-2, 10), (1e-6, 64), (1e-6, 1000)])
def test_dust_of_decay_in_a_part_that_nothing_moved_counts_as_zero(decay, steps) -> None:
    """Weights about 1 are off the closed form by half a unit of 1e-7 a step; a change of a tenth
    stays."""
    sent = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    trained = sent.copy()
    for _ in range(steps):
        trained *= np.float32(1 - decay)
    idle = float(np.float64(np.float32(1 - decay)) ** steps - 1)
    assert not without_idle(sent, trained - sent, idle, steps).any()
    moved = without_idle(sent, trained - sent + np.float32(0.1), idle, steps)
    assert moved == pytest.approx(np.full(1000, 0.1), abs=1e-3)


def change_possible(detector):
    """Where parameters train, [P]."""
    possible = np.ones(len(flatten(detector)), dtype=np.bool_)
    for place in layout(detector):
        possible[place.span] = place.name != "moments"
    return possible


@pytest.mark.parametrize("mode", ["delta", "gradient"])
def test_further_looks_at_the_same_data_make_the_noise_louder(mode) -> None:
    """The mean of four vectors under independent noise has half the noise: so twice as much."""
    settings = dataclasses.replace(SETTINGS, mode=mode)
    sigmas = []
    for looks in (1, 4):
        detector = build_detector("small", 8, seed=0)
        ours = UpdateMask(detector, settings, SeededNoise((1,)), looks=looks)
        ours.gradients([torch.ones_like(p) for p in detector.parameters() if p.requires_grad])
        ours.update(*update_of(detector))
        sigmas.append(ours.sigma)
    assert sigmas[1] == pytest.approx({name: 2 * value for name, value in sigmas[0].items()})


def test_few_graphs_export_nothing() -> None:
    ours = UpdateMask(build_detector("small", 8, seed=0), SETTINGS, SeededNoise((1,)))
    ours.require_enough(16)
    with pytest.raises(PrivacyError, match=r"at least 16 graphs.*got 15.*nothing is exported"):
        ours.require_enough(15)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_spoiled_change_raises_and_leaves_nothing_to_send(value) -> None:
    detector = build_detector("small", 8, seed=0)
    sent, trained = update_of(detector)
    trained[3] = value
    with pytest.raises(PrivacyError, match="holds NaN or infinity"):
        UpdateMask(detector, SETTINGS, SeededNoise((1,))).update(sent, trained)


def test_a_model_that_is_frozen_whole_is_refused() -> None:
    detector = build_detector("small", 8, seed=0)
    for parameter in detector.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(PrivacyError, match="every parameter of FlowDetector is frozen"):
        UpdateMask(detector, SETTINGS, SeededNoise((1,)))
