"""Whole runs in this process in which clients are sampled, slow, silent or broken."""

import json
from pathlib import Path

import numpy as np
import pytest

from client.app import app as client_app
from client.faults import draw_fault
from fglguard.bundle import load_bundle
from fglguard.encoder import load_encoder
from fglguard.errors import FederationError
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from server.app import app as server_app
from server.inprocess import simulate
from strategies.sampling import draw_clients

SITES = ["a-0", "a-1", "b-0", "b-1"]


def run(config, node_configs=None):
    simulate(server_app, client_app, config, node_configs)
    return Path(config["output"])


def lines(folder, kind):
    text = (folder / "metrics.jsonl").read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["kind"] == kind]


def by_round(records):
    found = {}
    for record in records:
        found.setdefault(record["round"], []).append(record["site"])
    return found


def weights(folder):
    return flatten(load_bundle(folder / "guard").detector)


def faults_of(config, server_round, attempt=0):
    settings = RunSettings.from_flat(config)
    return [draw_fault(settings.faults, settings.seed, server_round, c, attempt) for c in range(4)]


@pytest.mark.long
def test_a_fraction_trains_and_everyone_is_evaluated(run_config, tmp_path):
    config = run_config(
        federation__fraction=0.5, federation__minimum_clients=0, federation__rounds=4
    )
    folder = run(config)
    expected = {r: [SITES[i] for i in draw_clients(range(4), 2, 0, r, 0)] for r in range(1, 5)}
    trained = lines(folder, "train")
    assert by_round(trained) == expected
    # Over these four rounds the samples hold one domain and two: D is what the round has.
    for number in range(1, 5):
        present = {line["domain"] for line in trained if line["round"] == number}
        for domain in present:
            total = sum(
                line["weight"]
                for line in trained
                if (line["round"], line["domain"]) == (number, domain)
            )
            assert total == pytest.approx(1 / len(present))
    results = json.loads((folder / "results.json").read_text())
    silo = Silo.open(Path(config["corpus.path"]))
    assert results["test"]["pooled"]["episodes"] == np.count_nonzero(silo.split == 2)
    sampled = [site for sites in expected.values() for site in sites]
    assert results["participation"] == {
        "retries": 0,
        "failures": 0,
        "surplus": 0,
        "trained": {site: sampled.count(site) for site in sorted(set(sampled))},
    }
    again = run(config | {"output": str(tmp_path / "again")})
    assert np.array_equal(weights(folder), weights(again))


def test_a_minimum_above_what_a_round_needs_means_all_it_needs(run_config):
    config = run_config(federation__fraction=0.25, federation__rounds=1)
    assert len(lines(run(config), "train")) == 1


@pytest.mark.long
def test_of_the_over_selected_the_fastest_count(run_config):
    """m = 2, asked = ceil(2 * 1.5) = 3: the two with the least simulated time, ties by index."""
    config = run_config(
        federation__fraction=0.5,
        federation__over_selection=0.5,
        federation__minimum_clients=0,
        federation__rounds=5,
        faults__straggler=0.5,
    )
    folder = run(config)
    trained, surplus = lines(folder, "train"), lines(folder, "surplus")
    for number in range(1, 6):
        asked = draw_clients(range(4), 3, 0, number, 0)
        faults = faults_of(config, number)
        first = sorted(sorted(asked, key=lambda c: (faults[c].straggler, c))[:2])
        assert by_round(trained)[number] == [SITES[c] for c in first]
        assert by_round(surplus)[number] == [SITES[c] for c in asked if c not in first]
    # Every client has two steps of 1 s; stragglers take 5 times as long.
    assert {line["simulated_seconds"] for line in trained + surplus} == {2.0, 10.0}
    assert not lines(folder, "failure")
    assert json.loads((folder / "results.json").read_text())["participation"]["surplus"] == 5


def test_dropped_clients_are_left_out_by_name(run_config):
    config = run_config(federation__minimum_clients=1, federation__rounds=4, faults__dropout=0.3)
    folder = run(config)
    gone = {
        number: [
            site
            for site, fault in zip(SITES, faults_of(config, number), strict=True)
            if fault.dropout
        ]
        for number in range(1, 5)
    }
    gone = {number: sites for number, sites in gone.items() if sites}
    assert gone
    failures = lines(folder, "failure")
    assert by_round(failures) == gone
    assert all(line["reason"].startswith("SimulatedFault: client") for line in failures)
    calm = config | {"output": config["output"] + "-calm", "faults.dropout": 0.0}
    assert not np.array_equal(weights(folder), weights(run(calm)))


def test_updates_beyond_the_deadline_are_left_out(run_config):
    config = run_config(
        federation__minimum_clients=1,
        federation__rounds=3,
        faults__straggler=0.4,
        faults__deadline=9.0,
    )
    folder = run(config)
    slow = {
        number: [
            site
            for site, fault in zip(SITES, faults_of(config, number), strict=True)
            if fault.straggler
        ]
        for number in range(1, 4)
    }
    slow = {number: sites for number, sites in slow.items() if sites}
    assert slow
    failures = lines(folder, "failure")
    assert by_round(failures) == slow
    assert {line["reason"] for line in failures} == {"finished after 10 s, the deadline was 9 s"}


def test_stragglers_without_a_deadline_change_no_bit(run_config):
    config = run_config(federation__rounds=2)
    slow = config | {"output": config["output"] + "-slow", "faults.straggler": 0.5}
    assert np.array_equal(weights(run(config)), weights(run(slow)))


def test_a_crash_in_a_chosen_round(run_config):
    config = run_config(
        federation__minimum_clients=3, faults__crash_round=2, faults__crash_client=1
    )
    folder = run(config)
    (failure,) = lines(folder, "failure")
    assert (failure["round"], failure["site"], failure["during"]) == (2, "a-1", "train")
    assert "RuntimeError: client 1 crashes in round 2" in failure["reason"]
    assert "Traceback" in failure["reason"]
    results = json.loads((folder / "results.json").read_text())
    assert results["participation"]["failures"] == 1
    assert results["participation"]["trained"] == {"a-0": 3, "a-1": 2, "b-0": 3, "b-1": 3}


@pytest.mark.long
def test_a_round_below_its_minimum_is_retried_until_enough_answer(run_config, tmp_path):
    """The number of retries of each round follows from the draws; three of four must answer."""
    config = run_config(
        federation__minimum_clients=3,
        federation__rounds=4,
        federation__retries=8,
        faults__dropout=0.4,
    )
    folder = run(config)
    expected = []
    for number in range(1, 5):
        attempt = 0
        while sum(not fault.dropout for fault in faults_of(config, number, attempt)) < 3:
            attempt += 1
            expected.append((number, attempt))
    assert expected
    retries = lines(folder, "retry")
    assert [(line["round"], line["attempt"]) for line in retries] == expected
    assert all("at least 3 of 4" in line["reason"] for line in retries)
    assert [line["round"] for line in lines(folder, "round")] == [1, 2, 3, 4]
    results = json.loads((folder / "results.json").read_text())
    assert results["participation"]["retries"] == len(expected)
    again = run(config | {"output": str(tmp_path / "again")})
    assert np.array_equal(weights(folder), weights(again))


def test_a_retry_asks_another_sample(run_config):
    """Client 0 crashes in round 1 whenever it is asked: a sample without it gets through."""
    seed = next(
        seed
        for seed in range(100)
        if draw_clients(range(4), 1, seed, 1, 0) == [0] != draw_clients(range(4), 1, seed, 1, 1)
    )
    config = run_config(
        seed=seed,
        federation__fraction=0.25,
        federation__minimum_clients=0,
        federation__retries=1,
        federation__rounds=1,
        faults__crash_round=1,
    )
    folder = run(config)
    assert len(lines(folder, "retry")) == 1
    (trained,) = lines(folder, "train")
    assert trained["site"] == SITES[draw_clients(range(4), 1, seed, 1, 1)[0]]


def test_exhausted_retries_end_the_run_with_every_client_named(run_config):
    config = run_config(federation__retries=2, faults__crash_round=2, faults__crash_client=3)
    with pytest.raises(
        FederationError,
        match=r"(?s)train, round 2: expected usable replies from at least 4 of 4 clients, got 3"
        r".*site b-1: RuntimeError.*the last of 3 attempts",
    ):
        run(config)
    folder = Path(config["output"])
    assert [(line["round"], line["attempt"]) for line in lines(folder, "retry")] == [(2, 1), (2, 2)]
    status = json.loads((folder / "status.json").read_text())
    assert status["state"] == "failed"
    assert "site b-1" in status["error"]
    assert [line["round"] for line in lines(folder, "round")] == [1]


def test_a_real_site_ignores_faults(run_config, tmp_path, make_episode):
    roster, nodes = tmp_path / "roster.json", []
    for site in ("a", "b"):
        silo = Silo.create(tmp_path / site, [make_episode(n, site, n % 4 < 2) for n in range(40)])
        silo.prepare(load_encoder("hashed-words"), GraphSettings())
        nodes.append({"site": site, "data-path": str(silo.path)})
    sites = [{"site": site, "domain": site} for site in ("a", "b")]
    roster.write_text(json.dumps({"sites": sites}))
    config = run_config(
        federation__roster=str(roster),
        federation__clients=2,
        federation__minimum_clients=2,
        federation__rounds=1,
        faults__dropout=1.0,
        faults__straggler=1.0,
        faults__deadline=0.5,
        faults__crash_round=1,
    )
    trained = lines(run(config, nodes), "train")
    assert [line["site"] for line in trained] == ["a", "b"]
    assert all("simulated_seconds" not in line for line in trained)
