"""Runs that depart from the paper's detector in one setting each: the whole way to the guard."""

import json
from pathlib import Path

import numpy as np
import pytest

import client.app as client_module
from fglguard.bundle import load_bundle
from fglguard.calibration import calibrate
from fglguard.corpora.splits import SPLITS
from fglguard.detector_options import PAPER, DetectorOptions
from fglguard.encoder import load_encoder
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.guard import Guard
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from server.app import app as server_app
from server.inprocess import simulate
from server.process_grid import simulate_in_processes

pytestmark = pytest.mark.long


@pytest.fixture
def prepared_config(run_config):
    """The default configuration with `changes`, and the silo packed for it."""

    def make(**changes):
        config = run_config(federation__rounds=1, **changes)
        graph = GraphSettings.of(RunSettings.from_flat(config).detector)
        Silo.open(config["corpus.path"]).prepare(load_encoder("hashed-words"), graph)
        return config

    return make


def run(config) -> Path:
    simulate(server_app, client_module.app, config)
    return Path(config["output"])


@pytest.mark.parametrize(
    ("setting", "value", "options", "graph"),
    [
        ("edge_feature", "none", DetectorOptions("none"), GraphSettings()),
        ("edge_feature", "sender", DetectorOptions("sender"), GraphSettings()),
        ("edge_feature", "both", DetectorOptions("both"), GraphSettings()),
        ("edge_feature", "message", DetectorOptions("message"), GraphSettings(messages=True)),
        ("node_feature", "last", DetectorOptions(node_feature="last"), GraphSettings(3, "last")),
        (
            "node_feature",
            "mean_last",
            DetectorOptions(node_feature="mean_last"),
            GraphSettings(3, "mean_last"),
        ),
        ("self_loops", False, DetectorOptions(self_loops=False), GraphSettings()),
        ("residual", True, DetectorOptions(residual=True), GraphSettings()),
        ("readout", "mean", DetectorOptions(readout="mean"), GraphSettings()),
        ("readout", "max", DetectorOptions(readout="max"), GraphSettings()),
        ("labels", "final", PAPER, GraphSettings()),
        ("class_weight", "balanced", PAPER, GraphSettings()),
    ],
)
def test_a_run_obeys_the_setting_down_to_its_guard(prepared_config, setting, value, options, graph):
    """Calibrating anew on the guard's own scores gives the run's threshold: the guard that is
    loaded scores as the clients did.
    """
    config = prepared_config(**{f"detector__{setting}": value})
    folder = run(config)
    bundle = load_bundle(folder / "guard")
    assert bundle.detector.options == options
    assert bundle.graph == graph
    silo = Silo.open(config["corpus.path"])
    rows = np.flatnonzero(silo.split == SPLITS.index("val"))
    verdicts = Guard.load(folder / "guard").score(silo.episodes(rows))
    again = calibrate([v.corroborated_score for v in verdicts], silo.label[rows])
    told = json.loads((folder / "results.json").read_text())["calibration"]
    assert again.threshold == pytest.approx(told["threshold"], abs=1e-6)
    assert (again.recall, again.benign) == (told["recall"], told["benign"])


def test_training_obeys_labels_and_class_weight(prepared_config, tmp_path):
    """Sites of unequal classes: each setting, and both, lead to another model."""
    changes = {"partition__kind": "label_skew", "partition__purity": 0.8}
    models = []
    plain = prepared_config(**changes)
    for labels in ("broadcast", "final"):
        for weight in ("none", "balanced"):
            config = plain | {
                "detector.labels": labels,
                "detector.class_weight": weight,
                "output": str(tmp_path / f"{labels}-{weight}"),
            }
            models.append(flatten(load_bundle(run(config) / "guard").detector).tobytes())
    assert len(set(models)) == 4


def test_a_silo_packed_for_another_setting_ends_the_run_with_the_command(run_config):
    config = run_config(detector__edge_feature="message", federation__rounds=1)
    with pytest.raises(SiloError, match=r"corpus embed .* --rounds 3 --messages` prepares them"):
        run(config)


def test_processes_give_the_bits_that_a_run_in_process_gives(prepared_config, tmp_path):
    changes = {
        "edge_feature": "message",
        "node_feature": "mean_last",
        "self_loops": False,
        "residual": True,
        "labels": "final",
        "readout": "mean",
        "class_weight": "balanced",
    }
    config = prepared_config(
        **{f"detector__{name}": value for name, value in changes.items()}, federation__workers=2
    )
    ours, there = run(config), tmp_path / "there"
    simulate_in_processes(
        server_app,
        client_module.app,
        config | {"output": str(there), "federation.backend": "processes"},
    )
    assert np.array_equal(
        flatten(load_bundle(ours / "guard").detector),
        flatten(load_bundle(there / "guard").detector),
    )
    assert (
        json.loads((ours / "results.json").read_text())["test"]
        == (json.loads((there / "results.json").read_text())["test"])
    )
