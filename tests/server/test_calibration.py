"""Calibration through whole runs in this process, against calibrating the saved guard anew."""

import io
import json
import logging
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord
from flwr.clientapp import ClientApp
from rich.console import Console

import client.app as client_module
from client.failure import report_failure
from fglguard.bundle import load_bundle
from fglguard.calibration import (
    ReferenceHistogram,
    ScoreHistogram,
    calibrate,
    calibrate_histogram,
)
from fglguard.encoder import load_encoder
from fglguard.evaluation.metrics import auroc
from fglguard.graph import GraphSettings
from fglguard.guard import Guard
from fglguard.silo import Silo
from fglguard.training import score_graphs
from server.app import app as server_app
from server.histograms import HistogramTable
from server.inprocess import simulate
from server.results_table import print_results

BINS = 64
HISTOGRAM = {"calibration__scores": "histogram", "calibration__bins": BINS}
DOMAINS = {"calibration__thresholds": "domain", "calibration__minimum_benign": 2}


def run(config, node_configs=None, app=client_module.app):
    simulate(server_app, app, config, node_configs)
    folder = Path(config["output"])
    return folder, json.loads((folder / "results.json").read_text())


def printed(results):
    """What a person sees of them."""
    console = Console(file=io.StringIO(), width=200)
    print_results(results, console)
    return console.file.getvalue()


def rescored(folder, silo, split, domain=None):
    """Corroborated scores, labels and groups of a split by the saved guard."""
    rows = np.asarray(silo.split) == split
    if domain is not None:
        rows &= np.asarray(silo.domain) == silo.domains.index(domain)
    chosen = np.flatnonzero(rows)
    fingerprint = load_encoder("hashed-words").fingerprint
    graphs = silo.graphs(fingerprint, GraphSettings())
    scores = score_graphs(load_bundle(folder / "guard").detector, graphs, chosen)
    return scores, np.asarray(silo.label)[chosen], np.asarray(silo.group)[chosen]


def test_histograms_and_domain_thresholds(run_config):
    """Each threshold is that of the scores' own histogram; each domain is tested at its own."""
    config = run_config(**HISTOGRAM, **DOMAINS, federation__rounds=1)
    folder, results = run(config)
    silo = Silo.open(Path(config["corpus.path"]))
    record = results["calibration"]
    assert (record["thresholds"], record["scores"], record["bins"]) == ("domain", "histogram", BINS)
    for domain in (None, "a", "b"):
        scores, labels, _ = rescored(folder, silo, 1, domain)
        histogram = ScoreHistogram.of(scores.corroborated, labels, BINS)
        expected = calibrate_histogram(histogram, 0.1)
        guard = Guard.load(folder / "guard", domain=domain)
        assert guard.calibration == expected
        told = record if domain is None else record["domains"][domain]
        assert told["threshold"] in (expected.threshold, None)
        assert (told["benign"], told["unsafe"]) == (expected.benign, expected.unsafe)
    scores, labels, _ = rescored(folder, silo, 1)
    bundle = load_bundle(folder / "guard")
    # 64 bins are merged four at a time into 16, of both domains together.
    merged = ScoreHistogram.of(scores.corroborated, labels, 16)
    assert bundle.reference == ReferenceHistogram(
        tuple(merged.benign.tolist()), tuple(merged.unsafe.tolist())
    )
    assert not bundle.domain_references
    blocked, safe = [], []
    for domain in ("a", "b"):
        scores, labels, _ = rescored(folder, silo, 2, domain)
        tau = Guard.load(folder / "guard", domain=domain).threshold
        figures = results["test"]["domains"][domain]
        rate = np.mean(scores.corroborated[labels == 0] >= tau)
        assert figures["false_positive_rate"]["value"] == pytest.approx(rate)
        recall = np.mean(scores.corroborated[labels == 1] >= tau)
        assert figures["recall"]["value"] == pytest.approx(recall)
        blocked += (scores.corroborated >= tau).tolist()
        safe += (labels == 0).tolist()
    pooled = results["test"]["pooled"]["false_positive_rate"]["value"]
    assert pooled == pytest.approx(np.mean(np.array(blocked)[np.array(safe)]))


def test_a_conformal_threshold_by_group(run_config):
    config = run_config(
        calibration__rule="conformal",
        calibration__by="group",
        calibration__budget=0.4,
        federation__rounds=1,
    )
    folder, results = run(config)
    scores, labels, groups = rescored(folder, Silo.open(Path(config["corpus.path"])), 1)
    expected = calibrate(scores.corroborated, labels, 0.4, rule="conformal", groups=groups)
    bundle = load_bundle(folder / "guard")
    assert bundle.calibration == expected
    assert bundle.reference == ReferenceHistogram.of(scores.corroborated, labels)
    record = results["calibration"]
    assert (record["rule"], record["by"], record["risk"]) == ("conformal", "group", None)
    assert record["benign_groups"] == expected.benign_groups
    # The best recall in the budget of the test split's own thresholds, by trying each.
    scores, labels, _ = rescored(folder, Silo.open(Path(config["corpus.path"])), 2)
    blocked = scores.corroborated >= np.unique(scores.corroborated)[:, None]
    within = blocked[:, labels == 0].mean(axis=1) <= 0.4
    best = blocked[within][:, labels == 1].mean(axis=1).max()
    assert results["test"]["pooled"]["recall_at_fpr"]["value"] == pytest.approx(best)


def test_a_rule_that_can_not_be_met_blocks_nothing_and_says_so(run_config, caplog):
    config = run_config(
        calibration__rule="clopper_pearson", calibration__budget=0.02, federation__rounds=1
    )
    with caplog.at_level(logging.WARNING, "fglguard"):
        folder, results = run(config)
    told = "needs at least 114 benign episodes"  # 0.98^114 = 0.0999
    assert told in results["calibration"]["reason"]
    assert results["calibration"]["threshold"] is None
    assert results["calibration"]["risk"] == 0.1
    assert f"the guard BLOCKS NOTHING: clopper_pearson: a budget of 0.02 {told}" in caplog.text
    assert "NO THRESHOLD" in printed(results)
    assert results["test"]["pooled"]["recall"]["value"] == 0.0  # of a guard that blocks nothing
    assert load_bundle(folder / "guard").calibration.blocks_nothing


def sites(tmp_path, make_episode, unsafe=lambda number: number % 4 < 2):
    """Two real sites of a domain each, and their roster."""
    nodes = []
    for site in ("x", "y"):
        episodes = [make_episode(n, f"d{site}", unsafe(n)) for n in range(60)]
        silo = Silo.create(tmp_path / site, episodes)
        silo.prepare(load_encoder("hashed-words"), GraphSettings())
        nodes.append({"site": site, "data-path": str(silo.path)})
    roster = tmp_path / "roster.json"
    members = [{"site": site, "domain": f"d{site}"} for site in ("x", "y")]
    roster.write_text(json.dumps({"sites": members}))
    federation = {
        "federation__roster": str(roster),
        "federation__clients": 2,
        "federation__minimum_clients": 2,
        "federation__rounds": 1,
    }
    return nodes, federation


def recording(seen, spoil=None):
    """The real ClientApp, whose evaluate replies are looked at, and spoiled at site x."""
    app = ClientApp()
    app.query()(client_module.query)
    app.train()(client_module.train)

    @app.evaluate()
    @report_failure
    def evaluate(message, context):
        reply = client_module.evaluate(message, context)
        if spoil and reply.content["site"]["site"] == "x":
            spoil(reply)
        seen.append({name: dict(record) for name, record in reply.content.items()})
        return reply

    return app


def test_no_pair_leaves_a_real_site_with_histograms(run_config, tmp_path, make_episode):
    """The figures are those of a run on pairs: exact at the threshold, AUROC to the bin."""
    nodes, federation = sites(tmp_path, make_episode)
    seen: list[dict] = []
    config = run_config(**federation, **HISTOGRAM)
    folder, results = run(config, nodes, recording(seen))
    assert len(seen) == 2 * 2
    for reply in seen:
        assert set(reply) == {"histogram", "metrics", "site"}
        for counts in reply["histogram"].values():
            assert counts.numpy().shape == (1, BINS)
    exact_config = config | {"calibration.scores": "pairs", "output": str(tmp_path / "pairs")}
    _, exact = run(exact_config, nodes)
    for site in ("x", "y"):
        scores, labels, _ = rescored(folder, Silo.open(tmp_path / site), 2)
        figures = results["test"]["domains"][f"d{site}"]
        tau = load_bundle(folder / "guard").calibration.threshold
        rate = np.mean(scores.corroborated[labels == 0] >= tau)
        assert figures["false_positive_rate"]["value"] == pytest.approx(rate)
        edges = np.floor(scores.raw * BINS) / BINS
        assert figures["auroc_raw"]["value"] == pytest.approx(auroc(edges, labels))
        assert figures["auroc_raw"]["low"] is None
        same = exact["test"]["domains"][f"d{site}"]
        assert (figures["episodes"], figures["unsafe"]) == (same["episodes"], same["unsafe"])
        assert results["clients"][site]["auroc"] == pytest.approx(auroc(edges, labels))
    assert "without intervals" in printed(results)


def test_the_over_refusal_of_histograms_leaves_attacked_episodes_out():
    """Safe episodes in bins 4, 4 and 0 of five, one of those in bin 4 attacked; an unsafe in 2."""
    one = np.array([[1, 0, 0, 0, 2]])
    table = HistogramTable(
        safe=one,
        unsafe=np.array([[0, 0, 1, 0, 0]]),
        safe_attacked=np.array([[0, 0, 0, 0, 1]]),
        raw_safe=one,
        raw_unsafe=np.array([[0, 1, 0, 0, 0]]),
        domain=np.array(["d"]),
        site=np.array(["s"]),
    ).at_edges()
    assert table.corroborated.tolist() == [0.0, 0.8, 0.8, 0.4]
    assert table.raw.tolist() == [0.0, 0.8, 0.8, 0.2]
    assert table.label.tolist() == [0, 0, 0, 1]
    assert table.clean.tolist() == [1, 1, 0, -1]


def change(name, spoil):
    def apply(reply):
        counts = {key: array.numpy() for key, array in reply.content["histogram"].items()}
        counts[name] = spoil(counts[name])
        reply.content["histogram"] = ArrayRecord({key: Array(c) for key, c in counts.items()})

    return apply


def one_count_more(reply):
    reply.content["histogram"]["more"] = Array(np.zeros(3))


def pairs_instead(reply):
    reply.content["scores"] = ArrayRecord({"raw": Array(np.zeros(3))})
    del reply.content["histogram"]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (change("safe", lambda c: c - 100), "histogram.safe: expected counts of 0 to"),
        (change("safe", lambda c: c * 10**12), "histogram.safe: expected counts of 0 to"),
        (change("unsafe", lambda c: c[:, 1:]), "expected 1 domains of 64 bins, got shape (1, 63)"),
        (change("unsafe", lambda c: c * 0.5), "histogram.unsafe: expected whole numbers"),
        (one_count_more, "histogram: expected the counts"),
        (pairs_instead, "expected a record 'histogram'"),
    ],
)
def test_spoiled_histograms_are_left_out_by_name(run_config, tmp_path, make_episode, spoil, told):
    nodes, federation = sites(tmp_path, make_episode)
    federation["federation__minimum_clients"] = 1
    config = run_config(**federation, **HISTOGRAM)
    folder, results = run(config, nodes, recording([], spoil))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    failures = [line for line in lines if line["kind"] == "failure"]
    assert [failure["during"] for failure in failures] == ["evaluate (val)", "evaluate (test)"]
    assert {failure["site"] for failure in failures} == {"x"}
    assert all(told in failure["reason"] for failure in failures)
    assert set(results["test"]["domains"]) == {"dy"}


@pytest.mark.parametrize("scores", ["pairs", "histogram"])
def test_without_a_safe_validation_episode_there_is_no_guard(
    run_config, tmp_path, make_episode, caplog, scores
):
    """AUROC, recall and the rest are undefined with a reason, and the run ends all the same."""
    nodes, federation = sites(tmp_path, make_episode, unsafe=lambda number: True)
    with caplog.at_level(logging.WARNING, "fglguard"):
        config = run_config(**federation, calibration__scores=scores)
        folder, results = run(config, nodes)
    assert not (folder / "guard").exists()
    record = results["calibration"]
    assert record["reason"] == "there is no safe calibration episode to bound it"
    assert (record["threshold"], record["recall"], record["false_positive_rate"]) == (None,) * 3
    for figures in (results["test"]["pooled"], *results["test"]["domains"].values()):
        for name in ("auroc_raw", "recall", "false_positive_rate", "over_refusal"):
            assert figures[name]["value"] is None
            assert figures[name]["reason"]
    assert "the guard has no threshold and is not written: there is no safe" in caplog.text
    assert "undefined" in printed(results)


def test_local_models_are_calibrated_from_histograms_too(run_config):
    config = run_config(
        **HISTOGRAM, **DOMAINS, strategy__name="local", strategy__mu=0.0, federation__rounds=1
    )
    folder, results = run(config)
    for site in ("a-0", "b-1"):
        bundle = load_bundle(folder / "guards" / site)
        assert bundle.calibration.bins == BINS
    assert results["calibration"]["guards"] == len(list((folder / "guards").iterdir()))
    assert "thresholds, a client each" in printed(results)
