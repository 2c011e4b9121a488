"""The guard of a run goes, signed, to each site that wants it: in process, nodes 2, 3, 4."""

import json

import numpy as np
import pytest
from flwr.app import ArrayRecord

import client.app as honest
from client.site_app import SiteApp
from fglguard.bundle import load_bundle
from fglguard.errors import SignatureError
from fglguard.files import sha256_of
from fglguard.parameters import flatten
from fglguard.signature import read_public_key
from strategies.updates import PARAMETERS, pack_parameters
from tests.fglguard.test_signature import write_key

KEY = "delivery__signing_key"


@pytest.fixture
def key(tmp_path):
    return write_key(tmp_path / "host.key")


@pytest.fixture
def configs(sites, tmp_path, key):
    """Every site wants the guard, but the last."""
    wanted = {"host-key": key.with_suffix(".pub").read_text()}
    a, b, c = (site.node_config for site in sites)
    return [
        {**a, **wanted, "guards-path": str(tmp_path / "at-a")},
        {**b, **wanted, "guards-path": str(tmp_path / "at-b")},
        c,
    ]


def delivery(folder):
    record = json.loads((folder / "delivery.json").read_text())
    return {one["site"]: one["state"] for one in record}, {
        one["site"]: one["reason"] for one in record
    }


def spoiled(kind, spoil, site="b-0"):
    """The honest app, but of one site the replies to messages of a kind are spoiled."""
    one = SiteApp()
    for name, handler in (
        ("query", honest.query),
        ("train", honest.train),
        ("evaluate", honest.evaluate),
        ("query.guard", honest.receive_guard),
    ):

        def handle(message, context, handler=handler, name=name):
            reply = handler(message, context)
            ours = name == kind and context.node_config["site"] == site
            return spoil(message, reply) if ours else reply

        category, _, action = name.partition(".")
        register = getattr(one, category)
        (register(action) if action else register())(handle)
    return one


def test_sites_that_want_it_have_the_hosts_guard_and_its_signature(
    federation, configs, key, tmp_path
):
    folder = federation(configs, **{KEY: str(key)})
    assert delivery(folder)[0] == {"a-0": "delivered", "b-0": "delivered", "c-0": "not wanted"}
    public = read_public_key(key.with_suffix(".pub"))
    for guards in (tmp_path / "at-a", tmp_path / "at-b"):
        bundle = load_bundle(guards / "run", public)
        np.testing.assert_array_equal(
            flatten(bundle.detector), flatten(load_bundle(folder / "guard").detector)
        )
        assert sha256_of(guards / "run/guard.json") == sha256_of(folder / "guard/guard.json")


def test_without_a_key_nothing_is_sent(federation, configs, tmp_path):
    folder = federation(configs)
    assert not (folder / "delivery.json").exists()
    assert not (tmp_path / "at-a").exists()


def test_a_key_that_can_not_sign_stops_the_run_before_it_trains(federation, configs, key, tmp_path):
    with pytest.raises(SignatureError, match="expected an Ed25519 private key"):
        federation(configs, **{KEY: str(key.with_suffix(".pub"))})
    assert not (tmp_path / "run/metrics.jsonl").exists()


def test_a_site_that_takes_another_key_is_told_at_the_host_and_the_guard_stays(
    federation, configs, key, tmp_path
):
    other = write_key(tmp_path / "other").with_suffix(".pub")
    configs[1]["host-key"] = other.read_text()
    folder = federation(configs, **{KEY: str(key)})
    states, reasons = delivery(folder)
    assert states == {"a-0": "delivered", "b-0": "failed", "c-0": "not wanted"}
    assert "SignatureError" in reasons["b-0"] and "by another key" in reasons["b-0"]
    assert not (tmp_path / "at-b").exists()
    load_bundle(folder / "guard", read_public_key(key.with_suffix(".pub")))
    assert json.loads((folder / "status.json").read_text())["state"] == "completed"


def nan(message, reply):
    vector = np.full_like(reply.content["arrays"][PARAMETERS].numpy(), np.nan)
    reply.content["arrays"] = pack_parameters(vector)
    return reply


def no_scores(message, reply):
    reply.content["scores"] = ArrayRecord()
    return reply


@pytest.mark.parametrize(("kind", "spoil"), [("train", nan), ("evaluate", no_scores)])
def test_a_site_that_failed_the_run_does_not_get_it(
    federation, configs, key, tmp_path, kind, spoil
):
    folder = federation(configs, client_app=spoiled(kind, spoil), **{KEY: str(key)})
    states, reasons = delivery(folder)
    assert states == {"a-0": "delivered", "b-0": "withheld", "c-0": "not wanted"}
    assert reasons["b-0"].startswith(f"it failed the run: {kind}")
    assert not (tmp_path / "at-b").exists()


def lied(message, reply):
    reply.content["guard"]["sha256"] = "0" * 64
    return reply


def empty(message, reply):
    del reply.content["guard"]
    return reply


@pytest.mark.parametrize(
    ("spoil", "told"), [(lied, "confirmed another guard"), (empty, "its answer is malformed")]
)
def test_an_answer_that_confirms_nothing_is_a_failure(federation, configs, key, spoil, told):
    app = spoiled("query.guard", spoil)
    states, reasons = delivery(federation(configs, client_app=app, **{KEY: str(key)}))
    assert (states["a-0"], states["b-0"]) == ("delivered", "failed")
    assert told in reasons["b-0"]


def test_in_the_local_arm_each_site_gets_its_own(federation, configs, key, tmp_path):
    folder = federation(configs, **{KEY: str(key), "strategy__name": "local"})
    assert delivery(folder)[0]["b-0"] == "delivered"
    for site in ("a", "b"):
        own = (tmp_path / f"at-{site}/run/model.safetensors").read_bytes()
        assert own == (folder / f"guards/{site}-0/model.safetensors").read_bytes()


def test_a_grid_that_breaks_costs_the_run_nothing(federation, configs, key, monkeypatch):
    from server.inprocess import InProcessGrid

    push = InProcessGrid.push_messages

    def break_at_the_end(self, messages):
        told = list(messages)
        if told and told[0].metadata.message_type == "query.guard":
            raise ConnectionError("the SuperLink is gone")
        return push(self, told)

    monkeypatch.setattr(InProcessGrid, "push_messages", break_at_the_end)
    folder = federation(configs, **{KEY: str(key)})
    states, reasons = delivery(folder)
    assert states == {"a-0": "failed", "b-0": "failed", "c-0": "not wanted"}
    assert reasons["a-0"] == "ConnectionError: the SuperLink is gone"
    load_bundle(folder / "guard", read_public_key(key.with_suffix(".pub")))
