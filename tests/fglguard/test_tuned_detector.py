"""The detector that trains with the packaged MiniLM's last layer, on few short texts."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from fglguard.bundle import load_bundle, save_bundle
from fglguard.calibration import Calibration
from fglguard.detector import build_detector
from fglguard.detector_options import DetectorOptions
from fglguard.encoder import load_encoder
from fglguard.errors import BundleError, SettingsError, SiloError
from fglguard.graph import GraphSettings
from fglguard.guard import Guard
from fglguard.parameters import flatten, layout, load_flat
from fglguard.settings import PrivacySettings
from fglguard.silo import Silo
from fglguard.training import TrainingSettings, score_graphs, train_locally
from privacy.noise import SeededNoise
from privacy.plans import LADDER, Operation, operation_of, plan_of
from privacy.roles import parts_of
from privacy.update_mask import UpdateMask
from tests.conftest import build_episode

pytestmark = pytest.mark.long

GRAPH = GraphSettings(tokens=32)
EPISODES = [build_episode(number, "a", number % 2 == 0) for number in range(8)]
ONE_STEP = TrainingSettings(steps=1, batch_size=8, learning_rate=1e-3)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    silo = Silo.create(tmp_path_factory.mktemp("silos") / "s", EPISODES)
    return silo.prepare(load_encoder("minilm"), GRAPH)


def tuned(layers=1, rank=0, seed=3):
    options = DetectorOptions(encoder_layers=layers, encoder_rank=rank)
    return build_detector("paper", 384, seed, options)


@pytest.mark.parametrize("rank", [0, 4])
def test_before_training_it_scores_as_the_frozen_detector(packed, rank) -> None:
    frozen = build_detector("paper", 384, 3)
    expected = score_graphs(frozen, packed).raw
    assert score_graphs(tuned(rank=rank), packed).raw == pytest.approx(expected, abs=1e-6)


def test_a_step_trains_encoder_and_detector_and_repeats_to_the_bit(packed) -> None:
    first, second = tuned(), tuned()
    before = {name: p.detach().clone() for name, p in first.named_parameters()}
    for detector in (first, second):
        report = train_locally(detector, packed, None, ONE_STEP, (0, 1))
        assert report.steps == 1
    assert np.array_equal(flatten(first), flatten(second))
    # Keys' biases shift all of a query's logits alike, so that their gradient is rounding alone.
    same = [name for name, p in first.named_parameters() if torch.equal(p, before[name])]
    assert not same
    again = tuned()
    load_flat(again, flatten(first), "the trained model")
    assert np.array_equal(score_graphs(again, packed).raw, score_graphs(first, packed).raw)
    assert not np.array_equal(score_graphs(tuned(), packed).raw, score_graphs(first, packed).raw)


def test_adapters_train_from_the_second_step_on_both_sides(packed) -> None:
    """While B is zero, so is A's gradient: the first step moves B alone. What a detector of another
    seed is given by way of its parameters holds all that scores depend on."""
    detector, again = tuned(rank=4), tuned(rank=4)
    before = {name: p.detach().clone() for name, p in detector.named_parameters()}
    plain = replace(ONE_STEP, weight_decay=0.0)

    def kept() -> set[str]:
        return {n for n, p in detector.named_parameters() if torch.equal(p, before[n])}

    train_locally(detector, packed, None, plain, (0, 1))
    assert kept() == {name for name in before if "lora_A" in name}
    train_locally(detector, packed, None, plain, (0, 2))
    assert not kept()
    for number in (1, 2):
        train_locally(again, packed, None, plain, (0, number))
    assert np.array_equal(flatten(detector), flatten(again))
    other = tuned(rank=4, seed=8)
    load_flat(other, flatten(detector), "the trained model")
    assert np.array_equal(score_graphs(other, packed).raw, score_graphs(detector, packed).raw)


@pytest.mark.parametrize("mode", ["gradient", "delta"])
def test_masks_cover_the_zero_gradient_of_a_fresh_adapter(packed, mode) -> None:
    """A is given the noise of the quietest other part: little beside its own U(-1, 1) / sqrt(n)."""
    detector = tuned(rank=4)
    sent = flatten(detector)
    settings = PrivacySettings("aegis_extended", mode, "bbp", 1, 1.0, 1.0, 1.0, 8)
    masks = UpdateMask(detector, settings, SeededNoise((5,)))
    plain = TrainingSettings(
        steps=1, batch_size=8, learning_rate=0.1, optimizer="sgd", weight_decay=0.0
    )
    train_locally(detector, packed, None, plain, (0, 1), mask=masks.gradients)
    exported = masks.update(sent, flatten(detector))
    for name in ("intermediate", "output"):
        key = f"encoder.layer.0.{name}.dense.lora_A.default.weight"
        ratios = [masks.figures()[f"mask.{key}.{kind}_over_sigma"] for kind in ("top", "norm")]
        assert ratios[0] == ratios[1]  # told as for rank one: that it is zero stays hidden
        assert masks.sigma[key] == min(masks.sigma.values())
        place = next(p for p in layout(detector) if p.name == key)
        moved = np.linalg.norm((exported - sent)[place.span])
        assert 0 < moved < 0.1 * np.linalg.norm(sent[place.span])


@pytest.mark.parametrize("privacy", LADDER)
def test_some_adapters_train_under_every_mask(privacy) -> None:
    parts = [part for part in parts_of(tuned(rank=4)) if "lora_" in part.name]
    frozen = {p.name for p in parts if operation_of(p, plan_of(privacy)) is Operation.FREEZE}
    attention = {p.name for p in parts if "attention" in p.name}
    assert frozen == (set() if privacy == "none" else attention)
    assert attention < {p.name for p in parts}


def test_graphs_without_tokens_are_refused(packed) -> None:
    with pytest.raises(SiloError, match="expected graphs with token ids"):
        train_locally(tuned(), replace(packed, utterances=None), None, ONE_STEP, (0,))


@pytest.mark.parametrize("rank", [0, 4])
def test_a_saved_guard_scores_texts_as_the_trained_model_scores_the_silo(
    packed, tmp_path, rank
) -> None:
    detector, encoder = tuned(rank=rank), load_encoder("minilm")
    train_locally(detector, packed, None, ONE_STEP, (0,))
    calibration = Calibration(0.5, 0.1, "max_recall", 1.0, 0.0, 5, 5)
    save_bundle(tmp_path / "g", detector, encoder=encoder, graph=GRAPH, calibration=calibration)
    verdicts = Guard.load(tmp_path / "g").score(EPISODES)
    assert {v.status for v in verdicts} == {"success"}
    scores = score_graphs(detector, packed)
    assert [v.score for v in verdicts] == pytest.approx(scores.raw.tolist(), abs=1e-6)
    corroborated = [v.corroborated_score for v in verdicts]
    assert corroborated == pytest.approx(scores.corroborated.tolist(), abs=1e-6)
    assert np.array_equal(flatten(load_bundle(tmp_path / "g").detector), flatten(detector))
    with pytest.raises(BundleError, match="graph: expected token ids"):
        save_bundle(
            tmp_path / "h",
            detector,
            encoder=encoder,
            graph=GraphSettings(),
            calibration=calibration,
        )


def test_every_parameter_has_a_role_and_masks_obey_it() -> None:
    """Of the layer: Q, K, V and output are frozen, the expansion flooded; extended leaves none."""
    parts = parts_of(tuned())
    done = {part.name: operation_of(part, plan_of("aegis")) for part in parts}
    layer = "encoder.layer.0."
    frozen = {name for name, how in done.items() if how is Operation.FREEZE}
    names = ("self.query", "self.key", "self.value", "output.dense")
    assert frozen == {
        f"{layer}attention.{name}.{kind}" for name in names for kind in ("weight", "bias")
    }
    assert done[f"{layer}intermediate.dense.weight"] is Operation.FLOOD
    assert done["base.layers.0.node_projection"] is Operation.FLOOD
    extended = [operation_of(part, plan_of("aegis_extended")) for part in parts]
    assert Operation.OPEN not in extended
    whole = {p.name: operation_of(p, plan_of("aegis_extended")) for p in parts_of(tuned(0))}
    assert whole["encoder.embeddings.word_embeddings.weight"] is Operation.UNIFORMISE


@pytest.mark.parametrize("rank", [0, 4])
def test_a_copy_trains_apart(rank) -> None:
    detector = tuned(rank=rank)
    other = copy.deepcopy(detector)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    assert not np.array_equal(flatten(detector), flatten(other))


def test_other_features_than_the_mean_are_refused() -> None:
    with pytest.raises(SettingsError, match="encoder_layers: expected node_feature mean"):
        DetectorOptions(edge_feature="message", encoder_layers=1)


@pytest.mark.parametrize(("layers", "rank"), [(1, 385), (1, -1), (1, 2.0), (None, 4)])
def test_ranks_out_of_range_are_refused(layers, rank) -> None:
    with pytest.raises(SettingsError, match="encoder_rank: expected 0"):
        DetectorOptions(encoder_layers=layers, encoder_rank=rank)
