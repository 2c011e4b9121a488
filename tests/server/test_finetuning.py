"""Whole runs in which MiniLM's last layer trains with the detector."""

import json
from pathlib import Path

import numpy as np
import pytest

import client.app as client_module
from fglguard.bundle import load_bundle
from fglguard.calibration import calibrate
from fglguard.corpora.splits import SPLITS
from fglguard.encoder import load_encoder
from fglguard.encoders.tuned_minilm import TunedMiniLM
from fglguard.graph import GraphSettings
from fglguard.guard import Guard
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from server.app import app as server_app
from server.inprocess import simulate

pytestmark = pytest.mark.long


def finetuned(run_config, **changes) -> dict:
    """FedSGD: one step of 16 episodes a round, two clients of one domain each."""
    config = run_config(
        corpus__encoder="minilm",
        detector__encoder="finetune",
        detector__encoder_layers=1,
        detector__encoder_tokens=32,
        strategy__steps=1,
        strategy__batch_size=16,
        federation__clients=2,
        federation__minimum_clients=2,
        federation__rounds=1,
        **changes,
    )
    graph = GraphSettings.of(RunSettings.from_flat(config).detector)
    Silo.open(config["corpus.path"]).prepare(load_encoder("minilm"), graph)
    return config


def changed(detector) -> set[str]:
    """Parameters of the encoder that differ from the packaged ones."""
    packaged = dict(TunedMiniLM(1).named_parameters())
    return {
        name
        for name, p in detector.encoder.named_parameters()
        if not np.array_equal(p.detach(), packaged[name].detach())
    }


@pytest.mark.parametrize("privacy", ["none", "aegis"])
def test_the_guard_scores_live_as_the_run_did(run_config, privacy) -> None:
    """Calibrating anew on the guard's own scores gives the run's threshold. With masks, attention
    projections stay what they were, and the record says of each encoder part what was done."""
    config = finetuned(run_config, privacy__name=privacy)
    simulate(server_app, client_module.app, config)
    folder = Path(config["output"])
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["steps"] for line in lines if '"steps"' in line] == [1, 1]
    detector = load_bundle(folder / "guard").detector
    trained = changed(detector)
    frozen = {name for name in dict(detector.encoder.named_parameters()) if "attention" in name}
    frozen = {name for name in frozen if "LayerNorm" not in name}
    expected = set(dict(detector.encoder.named_parameters()))
    assert trained == (expected if privacy == "none" else expected - frozen)
    results = json.loads((folder / "results.json").read_text())
    told = results["privacy"]["parts"]["encoder.layer.0.attention.self.query.weight"]
    assert told["operation"] == ("open" if privacy == "none" else "freeze")

    silo = Silo.open(config["corpus.path"])
    rows = np.flatnonzero(silo.split == SPLITS.index("val"))
    verdicts = Guard.load(folder / "guard").score(silo.episodes(rows))
    again = calibrate([v.corroborated_score for v in verdicts], silo.label[rows])
    assert again.threshold == pytest.approx(results["calibration"]["threshold"], abs=1e-6)
