"""Whole runs in this process: the real ServerApp, strategy and ClientApp on a real silo."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, Message
from flwr.clientapp import ClientApp

import client.app as client_module
from client.failure import report_failure
from fglguard.bundle import load_bundle
from fglguard.errors import FederationError, SettingsError, SiloError
from fglguard.guard import Guard
from fglguard.parameters import flatten
from fglguard.silo import Silo
from server.app import app as server_app
from server.inprocess import simulate
from strategies.updates import PARAMETERS


def run(config, client_app=client_module.app, node_configs=None):
    simulate(server_app, client_app, config, node_configs)
    return Path(config["output"])


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def weights(folder):
    return flatten(load_bundle(folder / "guard").detector)


def test_a_run_leaves_the_whole_folder(run_config):
    folder = run(run_config())
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"
    kept = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert kept == ["round-0002.safetensors", "round-0003.safetensors"]
    trained = [line for line in lines(folder) if line["kind"] == "train"]
    assert len(trained) == 4 * 3
    # Two domains: each weighs one half, whatever its clients' sizes.
    for number in (1, 2, 3):
        by_domain: dict[str, float] = {}
        for line in trained:
            if line["round"] == number:
                by_domain[line["domain"]] = by_domain.get(line["domain"], 0) + line["weight"]
        assert by_domain == pytest.approx({"a": 0.5, "b": 0.5})
    results = json.loads((folder / "results.json").read_text())
    assert set(results["test"]["domains"]) == {"a", "b"}
    assert results["calibration"]["false_positive_rate"] <= 0.1
    assert set(results["floors"]) == {"counts", "tfidf", "hashed_words"}


def test_a_guard_from_the_bundle_scores_as_the_run_did(run_config):
    """The test table's AUROC, computed again from `Guard.score` over the silo's test split."""
    from fglguard.evaluation.metrics import auroc

    config = run_config()
    folder = run(config)
    silo = Silo.open(Path(config["corpus.path"]))
    rows = np.flatnonzero(silo.split == 2)
    verdicts = Guard.load(folder / "guard").score(silo.episodes(rows))
    results = json.loads((folder / "results.json").read_text())
    value = auroc(np.array([v.score for v in verdicts]), np.asarray(silo.label[rows], dtype=int))
    assert value == pytest.approx(results["test"]["pooled"]["auroc_raw"]["value"], abs=1e-9)
    blocked = [v.decision == "block" for v in verdicts]
    tau = results["calibration"]["threshold"]
    assert blocked == [v.corroborated_score >= tau for v in verdicts]


def test_the_same_seed_gives_the_same_bits_and_another_does_not(run_config, tmp_path):
    config = run_config()
    first = weights(run(config))
    again = weights(run(config | {"output": str(tmp_path / "again")}))
    other = weights(run(config | {"output": str(tmp_path / "other"), "seed": 1}))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_fedavg_and_iid_run_too(run_config):
    config = run_config(partition__kind="iid", strategy__name="fedavg", federation__rounds=1)
    results = json.loads((run(config) / "results.json").read_text())
    # Clients hold a bit of everything; results are still told by the episodes' own domains.
    assert set(results["test"]["domains"]) == {"a", "b"}


def broken_client(site, spoil, phase="train"):
    """The real ClientApp, but the named site's replies of one phase are spoiled."""
    app = ClientApp()

    def handler(name):
        real = getattr(client_module, name)

        @report_failure
        def handle(message, context):
            reply = real(message, context)
            if name == phase and reply.has_content() and reply.content["site"]["site"] == site:
                spoil(reply)
            return reply

        return handle

    app.query()(handler("query"))
    app.train()(handler("train"))
    app.evaluate()(handler("evaluate"))
    return app


def replace_parameters(reply: Message, vector: np.ndarray) -> None:
    reply.content["arrays"] = ArrayRecord({PARAMETERS: Array(vector)})


def raise_value_error(reply: Message) -> None:
    raise ValueError("no such thing")


def to_nan(reply: Message) -> None:
    vector = reply.content["arrays"][PARAMETERS].numpy().copy()
    vector[7] = math.nan
    replace_parameters(reply, vector)


def too_short(reply: Message) -> None:
    replace_parameters(reply, reply.content["arrays"][PARAMETERS].numpy()[:-1])


def to_double(reply: Message) -> None:
    replace_parameters(reply, reply.content["arrays"][PARAMETERS].numpy().astype(np.float64))


def no_nodes(reply: Message) -> None:
    reply.content["metrics"]["nodes"] = 0


def garbage(reply: Message) -> None:
    array = Array(dtype="float32", shape=(3,), stype="numpy.ndarray", data=b"garbage")
    reply.content["arrays"] = ArrayRecord({PARAMETERS: array})


def loss_of_nan(reply: Message) -> None:
    reply.content["metrics"]["loss"] = math.nan


SPOILED = [
    (garbage, "expected a serialised array, got bytes of no array"),
    (loss_of_nan, "metrics.loss: expected a finite number, got nan"),
    (raise_value_error, "no such thing"),
    (to_nan, "NaN"),
    (too_short, "parameters, got"),
    (to_double, "float32"),
    (no_nodes, "metrics.nodes"),
]


@pytest.mark.parametrize(("spoil", "told"), SPOILED)
def test_a_spoiled_update_is_left_out_by_name(run_config, spoil, told):
    config = run_config(federation__minimum_clients=3, federation__rounds=1)
    folder = run(config, broken_client("a-1", spoil))
    failures = [line for line in lines(folder) if line["kind"] == "failure"]
    assert [(line["site"], line["during"]) for line in failures] == [("a-1", "train")]
    assert told in failures[0]["reason"]
    trained = {line["site"]: line["weight"] for line in lines(folder) if line["kind"] == "train"}
    # Site a-0 now carries all of its domain's half.
    assert set(trained) == {"a-0", "b-0", "b-1"}
    assert trained["a-0"] == pytest.approx(0.5)


def spoil_scores(name, change):
    def spoil(reply):
        columns = {key: array.numpy() for key, array in reply.content["scores"].items()}
        columns[name] = change(columns[name])
        reply.content["scores"] = ArrayRecord({key: Array(c) for key, c in columns.items()})

    return spoil


def no_domains(reply: Message) -> None:
    del reply.content["site"]["domains"]


SPOILED_SCORES = [
    (spoil_scores("raw", lambda c: c * math.nan), "scores.raw: expected scores within"),
    (spoil_scores("raw", lambda c: c[:-1]), "rows, got shape"),
    (spoil_scores("raw", lambda c: c.astype(str)), "scores.raw: expected numbers"),
    (spoil_scores("label", lambda c: c * math.nan), "scores.label: expected whole numbers"),
    (spoil_scores("domain", lambda c: c + 99), "scores.domain: expected codes of"),
    (spoil_scores("domain", lambda c: c - 99), "scores.domain: expected codes of"),
    (spoil_scores("group", lambda c: np.asarray(c[0])), "scores.group: expected"),
    (no_domains, "its reply is malformed (KeyError: 'domains')"),
]


@pytest.mark.parametrize(("spoil", "told"), SPOILED_SCORES)
def test_spoiled_scores_are_left_out_by_name(run_config, spoil, told):
    config = run_config(federation__minimum_clients=3, federation__rounds=1)
    folder = run(config, broken_client("a-1", spoil, "evaluate"))
    failures = [line for line in lines(folder) if line["kind"] == "failure"]
    assert [(line["site"], line["during"]) for line in failures] == [
        ("a-1", "evaluate (val)"),
        ("a-1", "evaluate (test)"),
    ]
    assert all(told in failure["reason"] for failure in failures)


def test_a_metric_cannot_pass_for_another_site(run_config):
    def pose(reply):
        reply.content["metrics"].update({"kind": 5, "weight": 99, "domain": 7})

    folder = run(run_config(federation__rounds=1), broken_client("a-1", pose))
    line = next(line for line in lines(folder) if line.get("site") == "a-1")
    assert (line["kind"], line["domain"], line["weight"] <= 1) == ("train", "a", True)


def test_a_client_that_fails_the_query_is_left_out_while_enough_remain(run_config):
    spoiled = broken_client("a-1", raise_value_error, "query")
    config = run_config(federation__minimum_clients=3, federation__rounds=1)
    trained = {line.get("site") for line in lines(run(config, spoiled)) if line["kind"] == "train"}
    assert trained == {"a-0", "b-0", "b-1"}


def test_a_client_that_fails_the_query_is_named(run_config):
    spoiled = broken_client("a-1", raise_value_error, "query")
    with pytest.raises(FederationError, match=r"can't start:\n- a client failed: client 1: Value"):
        run(run_config(federation__rounds=1), spoiled)


@pytest.mark.parametrize(("spoil", "told"), SPOILED)
def test_too_few_usable_updates_end_the_run_by_name(run_config, spoil, told):
    config = run_config(federation__rounds=1)
    with pytest.raises(FederationError, match=r"(?s)at least 4 of 4.*site b-0") as caught:
        run(config, broken_client("b-0", spoil))
    assert told in str(caught.value)
    status = json.loads((Path(config["output"]) / "status.json").read_text())
    assert status["state"] == "failed"
    assert "site b-0" in status["error"]


def test_a_simulated_clients_traceback_reaches_the_server(run_config):
    config = run_config(federation__rounds=1)
    with pytest.raises(FederationError, match="in raise_value_error"):
        run(config, broken_client("b-0", raise_value_error))


def test_a_folder_that_holds_a_run_is_refused(run_config):
    config = run_config(federation__rounds=1)
    run(config)
    with pytest.raises(FederationError, match="already holds a run"):
        run(config)


def test_a_missing_silo_is_named(run_config):
    with pytest.raises(SiloError, match="nowhere"):
        run(run_config(corpus__path="/nowhere/silo"))


def test_an_unknown_setting_is_refused_before_anything_runs(run_config):
    with pytest.raises(SettingsError, match=r"strategy\.nu: unknown.*strategy\.mu"):
        run(run_config(strategy__nu=1.0))


def test_too_few_clients_end_the_run_within_its_time_limit(run_config):
    nodes = [{"partition-id": i, "num-partitions": 4} for i in range(2)]
    with pytest.raises(FederationError, match=r"expected 4 clients \(at least 4\), got 2"):
        run(run_config(), node_configs=nodes)


def test_unlabelled_episodes_stand_aside(run_config, tmp_path, make_episode):
    """They are in no split: the run ends, and counts the labelled ones alone."""
    from fglguard.encoder import load_encoder
    from fglguard.graph import GraphSettings

    episodes = [
        make_episode(n, d, None if n % 5 == 0 else n % 4 < 2) for d in "ab" for n in range(60)
    ]
    silo = Silo.create(tmp_path / "some", episodes)
    silo.prepare(load_encoder("hashed-words"), GraphSettings())
    folder = run(run_config(corpus__path=str(silo.path), federation__rounds=1))
    clients = json.loads((folder / "results.json").read_text())["clients"]
    held = sum(c[f"{s}_graphs"] for c in clients.values() for s in ("train", "val", "test"))
    assert held == 2 * 48


def test_a_site_without_unsafe_episodes_trains(run_config, tmp_path, make_episode):
    from fglguard.encoder import load_encoder
    from fglguard.graph import GraphSettings

    nodes = site_nodes(tmp_path, make_episode, load_encoder, GraphSettings, safe_only="clean")
    roster = tmp_path / "roster.json"
    sites = [{"site": "mixed", "domain": "mixed"}, {"site": "clean", "domain": "clean"}]
    roster.write_text(json.dumps({"sites": sites}))
    folder = run(
        run_config(
            federation__roster=str(roster), federation__clients=2, federation__minimum_clients=2
        ),
        node_configs=nodes,
    )
    results = json.loads((folder / "results.json").read_text())
    undefined = results["test"]["domains"]["clean"]["auroc_raw"]
    assert undefined["value"] is None
    assert "unsafe" in undefined["reason"]
    assert results["floors"] is None


@pytest.mark.parametrize(
    ("sites", "told"),
    [
        ([("mixed", "mixed")], r"site 'clean'.*not on the roster"),
        ([("mixed", "mixed"), ("clean", "other")], r"site clean: expected the roster's domain"),
    ],
)
def test_a_site_off_the_roster_stops_the_run(run_config, tmp_path, make_episode, sites, told):
    from fglguard.encoder import load_encoder
    from fglguard.graph import GraphSettings

    nodes = site_nodes(tmp_path, make_episode, load_encoder, GraphSettings, safe_only="clean")
    roster = tmp_path / "roster.json"
    entries = [{"site": site, "domain": domain} for site, domain in sites]
    roster.write_text(json.dumps({"sites": entries}))
    config = run_config(
        federation__roster=str(roster), federation__clients=2, federation__minimum_clients=2
    )
    with pytest.raises(FederationError, match=told):
        run(config, node_configs=nodes)


def test_a_site_with_another_encoder_stops_the_run(run_config):
    config = run_config()
    silo = Silo.open(Path(config["corpus.path"]))
    (fingerprint,) = silo.encoder_fingerprints()
    assert fingerprint.startswith("hashed-words-")
    with pytest.raises(FederationError, match="not embedded with the encoder 'minilm'"):
        run(config | {"corpus.encoder": "minilm"})


def site_nodes(tmp_path, make_episode, load_encoder, graph_settings, safe_only):
    """Node configs of two real sites, one of which holds no unsafe episode."""
    nodes = []
    for site in ("mixed", "clean"):
        episodes = [
            make_episode(n, site, unsafe=site != safe_only and n % 4 < 2) for n in range(40)
        ]
        silo = Silo.create(tmp_path / site, episodes)
        silo.prepare(load_encoder("hashed-words"), graph_settings())
        nodes.append({"site": site, "data-path": str(silo.path)})
    return nodes


def test_torch_uses_one_thread_a_worker():
    assert torch.get_num_threads() == 1


def test_one_domain_of_several_can_be_run_alone(run_config):
    folder = run(run_config(corpus__domains="b", federation__rounds=1))
    trained = {line["site"] for line in lines(folder) if line["kind"] == "train"}
    assert trained == {"b-0", "b-1", "b-2", "b-3"}
    results = json.loads((folder / "results.json").read_text())
    assert set(results["test"]["domains"]) == set(results["floors"]["tfidf"]["domains"]) == {"b"}
