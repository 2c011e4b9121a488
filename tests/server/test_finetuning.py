"""Whole runs in which MiniLM's last layer trains with the detector."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import client.app as client_module
from fglguard.bundle import load_bundle
from fglguard.calibration import calibrate
from fglguard.corpora.splits import SPLITS
from fglguard.detector import detector_of
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
    setup = {
        "corpus__encoder": "minilm",
        "detector__encoder": "finetune",
        "detector__encoder_layers": 1,
        "detector__encoder_tokens": 32,
        "strategy__steps": 1,
        "strategy__batch_size": 16,
        "federation__clients": 2,
        "federation__minimum_clients": 2,
        "federation__rounds": 1,
    }
    config = run_config(**setup | changes)
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

    threshold = live_threshold(config, folder / "guard")
    assert threshold == pytest.approx(results["calibration"]["threshold"], abs=1e-6)


def live_threshold(config, guard: Path) -> float:
    silo = Silo.open(config["corpus.path"])
    rows = np.flatnonzero(silo.split == SPLITS.index("val"))
    verdicts = Guard.load(guard).score(silo.episodes(rows))
    return calibrate([v.corroborated_score for v in verdicts], silo.label[rows]).threshold


FEDSGD = {
    "strategy__name": "fedavg",
    "strategy__balanced": False,
    "strategy__optimizer": "sgd",
    "strategy__learning_rate": 0.1,
}
FEDPROX = {"strategy__steps": 3}


@pytest.mark.parametrize("strategy", [FEDSGD, FEDPROX], ids=["fedsgd", "fedprox"])
def test_with_a_rank_adapters_alone_travel_and_repeat_to_the_bit(
    run_config, tmp_path, strategy
) -> None:
    """Of the layer, the guard holds adapters alone: under `aegis` those on Q and V as the server's
    seed made them, those on the MLP as trained. The seed decides every bit, and what the guard
    scores live is what the run's threshold was chosen on."""
    changes = {"detector__encoder_rank": 4, "privacy__name": "aegis", "federation__rounds": 2}
    config = finetuned(run_config, **strategy | changes)
    simulate(server_app, client_module.app, config)
    folder = Path(config["output"])
    detector = load_bundle(folder / "guard").detector
    initial = detector_of(RunSettings.from_flat(config).detector, 384, config["seed"])
    adapters = dict(detector.encoder.named_parameters())
    assert adapters
    for name, before in initial.encoder.named_parameters():
        assert "lora_" in name
        assert torch.equal(adapters[name], before) is ("attention" in name), name
    results = json.loads((folder / "results.json").read_text())
    told = results["privacy"]["parts"]
    assert told["encoder.layer.0.attention.self.query.lora_A.default.weight"]["operation"] == (
        "freeze"
    )
    expansion = told["encoder.layer.0.intermediate.dense.lora_B.default.weight"]
    assert (expansion["operation"], expansion["size"]) == ("flood", 1536 * 4)
    threshold = live_threshold(config, folder / "guard")
    assert threshold == pytest.approx(results["calibration"]["threshold"], abs=1e-6)

    simulate(server_app, client_module.app, config | {"output": str(tmp_path / "again")})
    first, second = (
        (one / "guard" / "model.safetensors").read_bytes() for one in (folder, tmp_path / "again")
    )
    assert first == second
