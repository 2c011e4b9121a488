"""The local arm through a whole run, against training each client by itself."""

import json
from pathlib import Path

import numpy as np
import pytest

import client.app as client_module
from client.holdings import simulated_holdings
from fglguard.bundle import load_bundle
from fglguard.detector import build_detector
from fglguard.evaluation.metrics import auroc
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from fglguard.training import TrainingSettings, score_graphs, train_locally
from server.app import app as server_app
from server.inprocess import simulate


@pytest.fixture
def config(run_config):
    return run_config(strategy__name="local", federation__rounds=2, strategy__mu=0.0)


def run(config):
    simulate(server_app, client_module.app, config)
    return Path(config["output"])


def test_each_guard_is_its_clients_own_training_continued(config):
    """Reference: `train_locally` twice on one client's graphs, with the run's seeds."""
    folder = run(config)
    settings = RunSettings.from_flat(config)
    s = settings.strategy
    for client, site in enumerate(("a-0", "a-1", "b-0", "b-1")):
        held = simulated_holdings(settings, client, 4)
        detector = build_detector("paper", held.packed.x.shape[1], seed=settings.seed)
        for server_round in (1, 2):
            train_locally(
                detector,
                held.packed,
                held.indices("train"),
                TrainingSettings(
                    epochs=s.epochs,
                    batch_size=s.batch_size,
                    learning_rate=s.learning_rate,
                    optimizer=s.optimizer,
                    weight_decay=s.weight_decay,
                ),
                seed=(settings.seed, server_round, client),
            )
        saved = load_bundle(folder / "guards" / site).detector
        assert np.array_equal(flatten(saved), flatten(detector))
    assert not (folder / "guard").exists()


def test_the_matrix_is_each_guard_on_each_domain(config):
    """AUROC again from the saved guards, over the silo's own test rows."""
    folder = run(config)
    results = json.loads((folder / "results.json").read_text())
    silo = Silo.open(Path(config["corpus.path"]))
    packed = simulated_holdings(RunSettings.from_flat(config), 0, 4)  # fingerprint only
    graphs = silo.graphs(packed.encoder_fingerprint, packed_settings())
    within, outside = [], []
    for site, row in results["local"]["auroc_raw"].items():
        detector = load_bundle(folder / "guards" / site).detector
        for domain, value in row.items():
            rows = np.flatnonzero((silo.split == 2) & (silo.domain == silo.domains.index(domain)))
            expected = auroc(score_graphs(detector, graphs, rows).raw, silo.label[rows])
            assert value == pytest.approx(expected, abs=1e-9)
            (within if site.startswith(domain) else outside).append(value)
    assert results["local"]["own_domain"] == pytest.approx(np.mean(within))
    assert results["local"]["other_domains"] == pytest.approx(np.mean(outside))
    assert results["test"]["domains"]["a"]["auroc_raw"]["value"] == pytest.approx(
        np.mean([results["local"]["auroc_raw"][site]["a"] for site in ("a-0", "a-1")])
    )


def test_a_site_that_could_not_calibrate_gets_no_guard_that_would_let_all_pass(config):
    """At purity 1 half of the clients hold unsafe episodes alone, in validation too."""
    config |= {"partition.kind": "label_skew", "partition.purity": 1.0, "federation.rounds": 1}
    folder = run(config)
    clients = json.loads((folder / "results.json").read_text())["clients"]
    able = {site for site, c in clients.items() if c["val_graphs"] > c["val_unsafe"]}
    assert len(able) == len(clients) // 2
    assert {path.name for path in (folder / "guards").iterdir()} == able


def packed_settings():
    from fglguard.graph import GraphSettings

    return GraphSettings(rounds=3)
