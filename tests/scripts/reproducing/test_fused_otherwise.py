"""Fusions against the formula: logit = (l - m1) / s1 + 0.25 (p - m2) / s2."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fglguard.bundle import save_bundle
from fglguard.calibration import Calibration
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.packed_graphs import collate
from fglguard.parameters import flatten, load_flat
from scripts.reproducing.ablated_silos import SETTINGS
from scripts.reproducing.fused_otherwise import (
    VALIDATION,
    fused_anew,
    scores_fused_by,
    without_normalisation,
    without_provenance,
)
from scripts.reproducing.scores import episode_rows

ENCODER = load_encoder("hashed-words")


@pytest.fixture
def silo(make_silo):
    made = make_silo()
    made.prepare(ENCODER, SETTINGS)
    return made


@pytest.fixture
def packed(silo):
    return silo.graphs(ENCODER.fingerprint, SETTINGS)


@pytest.fixture
def detector():
    made = build_detector("recommended", 384, 0)
    vector = np.random.default_rng(5).standard_normal(len(flatten(made))).astype(np.float32)
    load_flat(made, np.abs(vector), "the test")
    return made


def branches(detector, packed):
    batch = collate(packed, np.arange(len(packed)))
    with torch.no_grad():
        return detector.hidden(batch)[batch.final], detector(batch)[batch.final]


def test_without_provenance_the_trained_branch_alone_is_standardised(
    detector, silo, packed
) -> None:
    (m1, _), (s1, _) = detector.moments.detach().clone()
    without_provenance(detector, [silo], [packed])
    hidden, logits = branches(detector, packed)
    assert torch.allclose(logits, (hidden[:, 0] - m1) / s1)


def test_without_normalisation_branches_are_summed_as_they_are(detector, silo, packed) -> None:
    without_normalisation(detector, [silo], [packed])
    hidden, logits = branches(detector, packed)
    assert torch.allclose(logits, hidden[:, 0] + 0.25 * hidden[:, 1])


def test_fused_anew_takes_the_moments_of_the_validation_side(detector, silo, packed) -> None:
    fused_anew(detector, [silo], [packed])
    hidden, _ = branches(detector, packed)
    own = hidden[torch.from_numpy(silo.split == VALIDATION)].double()
    assert len(own)
    assert torch.allclose(detector.moments[0].double(), own.mean(0), atol=1e-4)
    assert torch.allclose(detector.moments[1].double()[0], own.std(0, correction=0)[0], rtol=1e-4)


def test_scores_of_a_run_fused_otherwise_are_the_changed_guards(
    detector, silo, packed, tmp_path: Path
) -> None:
    calibration = Calibration(0.0, 0.1, "max_recall", 1.0, 0.0, 5, 5)
    save_bundle(
        tmp_path / "guard", detector, encoder=ENCODER, graph=SETTINGS, calibration=calibration
    )
    scores = scores_fused_by(tmp_path, [silo], without_normalisation)
    without_normalisation(detector, [silo], [packed])
    rows = episode_rows([silo])[0]
    _, logits = branches(detector, packed)
    assert np.allclose(scores.raw, logits[rows].double().sigmoid())
    assert scores.id.tolist() == [silo.ids[row] for row in rows]
