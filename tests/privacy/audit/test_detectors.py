"""The audit's own bookkeeping, on random graphs: what it finds without a mask and on noise."""

import numpy as np
import pytest

from fglguard.settings import RunSettings
from fglguard.training import TrainingSettings
from privacy.audit.detectors import DetectorAudit, audit_detector
from privacy.audit.findings import BEST
from scripts.generate_flower_config import composed
from tests.privacy.conftest import privacy_settings


def audit_of(**changes):
    settings = {
        "detector": RunSettings.from_flat(composed("detector=paper")).detector,
        "training": TrainingSettings(epochs=1, batch_size=8),
        "privacies": {
            "none": privacy_settings("none", "bbp"),
            "aegis_extended": privacy_settings("aegis_extended", "dp_scale"),
        },
        "exports": [1, 3],
        "trials": {1: 1},
        "modes": ("fedsgd",),
        "decoys": 5,
        "utterances": 10,
        "null_seeds": 2,
        "warm_steps": 2,
        **changes,
    }
    return DetectorAudit(**settings)


@pytest.fixture
def findings(make_graphs):
    def make(**changes):
        return audit_detector(audit_of(**changes), make_graphs(20), np.arange(20))

    return make


def test_one_episode_is_found_without_a_mask(findings):
    found, notes = findings()
    assert not notes
    bare = [f for f in found if f.attack == BEST and f.privacy == "none"]
    assert {f.exports for f in bare} == {1, 3}
    for finding in bare:
        assert finding.figures["auc"].score == 1.0
        assert finding.figures["recall"].score == 1.0
        assert finding.figures["auc"].undefended == 1.0


def test_every_masked_figure_has_its_null_and_undefended_figures(findings):
    found, _ = findings()
    masked = [f for f in found if f.privacy == "aegis_extended"]
    assert masked
    for finding in masked:
        for figure in finding.figures.values():
            assert figure.null is not None
            # Unmasked, one episode spans two directions: there is no check of its first four. And
            # without noise, nothing is learnt from its size.
            alone = "directions" in finding.attack or finding.family == "noise_size"
            assert (figure.undefended is None) <= alone
            assert 0 <= figure.null <= 1
    assert not any("bias" in f.attack for f in masked)  # frozen: not exported


def test_the_same_seed_finds_the_same(findings):
    assert findings()[0] == findings()[0]


def test_families_are_chosen(findings):
    found, _ = findings(families=("utterances",))
    assert {f.family for f in found} == {"utterances"}


def test_a_batch_that_a_mask_refuses_is_told(make_graphs):
    """With features this small no projection has a gradient: `aegis` has nothing to hide."""
    graphs = make_graphs(20)
    graphs.x[:] = 0
    graphs.x[::2, 0] = 1e-30 * (1 + np.arange(20))
    privacies = {"none": privacy_settings("none", "bbp"), "aegis": privacy_settings("aegis", "bbp")}
    audit = audit_of(families=("comparison",), privacies=privacies, warm_steps=0)
    found, notes = audit_detector(audit, graphs, np.arange(20))
    assert {f.privacy for f in found} == {"none"}
    assert len(notes) == 1
    assert "under aegis, 1 of 1 batches were not exported, e.g. " in notes[0]
    assert "every gradient to be hidden is zero (layers.0" in notes[0]
