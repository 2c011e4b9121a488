"""One hostile site of eight, four a domain, each with a silo of its own: whole runs."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord

import client.app as honest
from fglguard.bundle import load_bundle
from fglguard.encoder import load_encoder
from fglguard.errors import FederationError
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from scripts.consortium import Consortium, write_roster
from scripts.generate_flower_config import composed
from scripts.hostile import (
    CLAIM,
    hostile_app,
    inflate_nodes,
    invent_domain,
    scale_update,
    to_nan,
)
from server.inprocess import InProcessGrid
from server.run import run
from strategies.updates import PARAMETERS

pytestmark = pytest.mark.long

MEDIAN = {"strategy.aggregation": "median"}
TRIMMED = {"strategy.aggregation": "trimmed_mean"}
BOUND = {"strategy.norm_bound": 0.5}


@pytest.fixture(scope="module")
def consortium(tmp_path_factory, make_episode):
    folder = tmp_path_factory.mktemp("consortium")
    episodes = [
        make_episode(n, domain, unsafe=n % 4 < 2) for domain in ("a", "b") for n in range(96)
    ]
    source = Silo.create(folder / "source", episodes)
    encoder, graph = load_encoder("hashed-words"), GraphSettings()
    source.prepare(encoder, graph)
    return Consortium(source, folder, encoder, graph)


@pytest.fixture(scope="module")
def sites(consortium):
    settings = RunSettings.from_flat(composed("detector=paper", "privacy=none"))
    return consortium.deal(["a", "b"], 4, settings.partition, seed=0)


@pytest.fixture(scope="module")
def flipped(consortium, sites):
    return consortium.with_flipped_labels(sites[0])


@pytest.fixture
def federation(tmp_path, sites):
    """Runs the eight sites, the first perhaps another than the roster's; returns the run folder."""

    def go(*, first=None, spoils=(), capped=True, name="run", **changes):
        roster = tmp_path / f"{name}.json"
        write_roster(roster, sites, capped=capped)
        config = {
            **composed("detector=paper", "privacy=none"),
            "corpus.name": "silos",
            "corpus.encoder": "hashed-words",
            "federation.roster": str(roster),
            "federation.clients": 8,
            "federation.minimum_clients": 7,
            "federation.rounds": 3,
            "federation.connect_timeout": 0.1,
            "output": str(tmp_path / name),
            **{key.replace("__", "."): value for key, value in changes.items()},
        }
        app = hostile_app(sites[0].name, *spoils) if spoils else honest.app
        nodes = [site.node_config for site in (first or sites[0], *sites[1:])]
        run(InProcessGrid(app, nodes, config), RunSettings.from_flat(config))
        return Path(config["output"])

    return go


def model(folder):
    return flatten(load_bundle(folder / "guard").detector).astype(np.float64)


def auroc(folder):
    return json.loads((folder / "results.json").read_text())["test"]["mean_auroc_raw"]


def lines(folder, kind):
    records = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return [record for record in records if record["kind"] == kind]


def test_a_scaled_update_ruins_the_mean_and_none_of_the_options(federation):
    """Harmful and harmless words are told apart in three rounds, so an honest AUROC is 1."""
    assert auroc(federation(name="clean")) > 0.95
    assert auroc(federation(name="mean", spoils=[scale_update])) < 0.8
    for name, options in {"median": MEDIAN, "trimmed": TRIMMED, "bound": BOUND}.items():
        folder = federation(name=name, spoils=[scale_update], **options)
        assert auroc(folder) > 0.95, name
    told = {(line["site"], line["bounded"]) for line in lines(folder, "train")}
    assert ("a-0", 1.0) in told


@pytest.mark.parametrize("options", [MEDIAN, TRIMMED], ids=["median", "trimmed"])
@pytest.mark.parametrize("strategy", ["fedavg", "fedprox"])
def test_a_hostile_site_moves_the_model_no_farther_than_honest_ones_lie_apart(
    federation, options, strategy
):
    """After a round, each coordinate of a domain lies within its honest sites' values.

    So whatever the hostile site sends, the models of two runs differ by at most the width of the
    honest sites' values; under the mean they differ by far more.
    """
    common = {"strategy__name": strategy, "federation__rounds": 1}
    clean = model(federation(name="clean", **common, **options))
    hostile = model(federation(name="hostile", spoils=[scale_update], **common, **options))
    mean = model(federation(name="mean", spoils=[scale_update], **common))
    # Four sites train with lr 1e-3 for 2 steps: Adam moves a coordinate at most 0.001 a step.
    assert np.abs(hostile - clean).max() < 0.01
    assert np.abs(mean - clean).max() > 5 * np.abs(hostile - clean).max()


def test_flipped_labels_are_outvoted(federation, flipped):
    for name, options in {"mean": {}, "median": MEDIAN, "trimmed": TRIMMED, "bound": BOUND}.items():
        assert auroc(federation(name=name, first=flipped, **options)) > 0.95, name


def test_flipped_labels_with_an_inflated_count_need_the_cap(federation, sites, flipped):
    """FedAvg, one round. Without a cap the site's weight is N x CLAIM / (N x CLAIM + the rest)."""
    common = {"strategy__name": "fedavg", "strategy__balanced": False, "federation__rounds": 1}
    spoiled = {"first": flipped, "spoils": [inflate_nodes], **common}
    honest_share = sites[0].nodes / sum(site.nodes for site in sites)
    rest = sum(site.nodes for site in sites[1:])
    grabbed = sites[0].nodes * CLAIM / (sites[0].nodes * CLAIM + rest)
    for capped, share in ((True, honest_share), (False, grabbed)):
        folder = federation(name=f"capped-{capped}", capped=capped, **spoiled)
        weights = {line["site"]: line["weight"] for line in lines(folder, "train")}
        assert weights["a-0"] == pytest.approx(share)
    told = lines(tmp := federation(name="told", **spoiled), "train")[0]
    assert (told["nodes"], told["claimed_nodes"]) == (sites[0].nodes, sites[0].nodes * CLAIM)
    assert np.array_equal(model(tmp), model(federation(name="flipped", first=flipped, **common)))


@pytest.mark.parametrize("options", [{}, MEDIAN, TRIMMED, BOUND])
def test_a_nan_is_left_out_by_name(federation, options):
    folder = federation(spoils=[to_nan], **options)
    assert auroc(folder) > 0.95
    assert np.isfinite(model(folder)).all()
    failed = lines(folder, "failure")
    assert [(line["site"], line["round"]) for line in failed] == [("a-0", r) for r in (1, 2, 3)]
    assert "NaN" in failed[0]["reason"]


def test_a_domain_invented_in_a_reply_changes_no_bit(federation):
    common = {"federation__rounds": 1}
    claimed = federation(name="claimed", spoils=[invent_domain], **common)
    assert np.array_equal(model(claimed), model(federation(name="clean", **common)))
    assert {line["domain"] for line in lines(claimed, "train")} == {"a", "b"}


def test_a_domain_invented_at_enrolment_stops_the_run_by_name(federation, consortium, sites):
    liar = consortium.with_domain(sites[0], "invented")
    with pytest.raises(FederationError, match=r"site a-0: expected the roster's domain 'a'"):
        federation(first=liar)


def test_an_unknown_site_stops_the_run_by_name(federation, sites):
    from dataclasses import replace

    stranger = replace(sites[0], name="stranger")
    with pytest.raises(FederationError, match=r"site 'stranger'.*not on the roster"):
        federation(first=stranger)


def test_a_loss_that_is_no_number_is_left_out(federation):
    def no_loss(message, reply):
        reply.content["metrics"]["loss"] = math.nan

    folder = federation(spoils=[no_loss], federation__rounds=1)
    (failed,) = lines(folder, "failure")
    assert failed["site"] == "a-0"
    assert "metrics.loss" in failed["reason"]


def test_bytes_that_are_no_array_are_left_out(federation):
    def garbage(message, reply):
        vector = reply.content["arrays"][PARAMETERS]
        broken = Array(vector.dtype, vector.shape, vector.stype, b"\x00" * 16)
        reply.content["arrays"] = ArrayRecord({PARAMETERS: broken})

    folder = federation(spoils=[garbage], federation__rounds=1)
    (failed,) = lines(folder, "failure")
    assert failed["site"] == "a-0"
    assert "expected a serialised array" in failed["reason"]
