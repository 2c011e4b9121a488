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
from fglguard.parameters import flatten, load_flat
from fglguard.silo import Silo
from fglguard.training import TrainingSettings, score_graphs, train_locally
from privacy.plans import Operation, operation_of, plan_of
from privacy.roles import parts_of
from tests.conftest import build_episode

pytestmark = pytest.mark.long

GRAPH = GraphSettings(tokens=32)
EPISODES = [build_episode(number, "a", number % 2 == 0) for number in range(8)]
ONE_STEP = TrainingSettings(steps=1, batch_size=8, learning_rate=1e-3)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    silo = Silo.create(tmp_path_factory.mktemp("silos") / "s", EPISODES)
    return silo.prepare(load_encoder("minilm"), GRAPH)


def tuned(layers=1):
    return build_detector("paper", 384, 3, DetectorOptions(encoder_layers=layers))


def test_before_training_it_scores_as_the_frozen_detector(packed) -> None:
    frozen = build_detector("paper", 384, 3)
    expected = score_graphs(frozen, packed).raw
    assert score_graphs(tuned(), packed).raw == pytest.approx(expected, abs=1e-6)


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


def test_graphs_without_tokens_are_refused(packed) -> None:
    with pytest.raises(SiloError, match="expected graphs with token ids"):
        train_locally(tuned(), replace(packed, utterances=None), None, ONE_STEP, (0,))


def test_a_saved_guard_scores_texts_as_the_trained_model_scores_the_silo(packed, tmp_path) -> None:
    detector, encoder = tuned(), load_encoder("minilm")
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


def test_a_copy_trains_apart() -> None:
    detector = tuned()
    other = copy.deepcopy(detector)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    assert not np.array_equal(flatten(detector), flatten(other))


def test_other_features_than_the_mean_are_refused() -> None:
    with pytest.raises(SettingsError, match="encoder_layers: expected node_feature mean"):
        DetectorOptions(edge_feature="message", encoder_layers=1)
