"""Who takes part where the roster binds each site to a node: in process, nodes 2, 3, 4, ..."""

import json

import pytest
from flwr.app import ConfigRecord

import client.app as honest
from client.app import app
from fglguard.errors import FederationError


def enrolment(folder):
    record = json.loads((folder / "enrolment.json").read_text())
    return [one["site"] for one in record["present"]], record["left_out"]


def trained(folder):
    records = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return {record["site"] for record in records if record["kind"] == "train"}


def test_a_node_that_claims_anothers_site_takes_no_part_and_the_rest_go_on(federation, sites):
    a, b, c = (site.node_config for site in sites)
    folder = federation([a, b, {**c, "site": "a-0"}])
    present, left_out = enrolment(folder)
    assert present == ["a-0", "b-0"] and trained(folder) == {"a-0", "b-0"}
    (one,) = left_out
    assert (one["site"], one["node"], one["claimed"]) == ("c-0", 4, "a-0")
    assert "binds to site c-0, says that it is site 'a-0'" in one["reason"]


def test_a_node_that_is_not_on_the_roster_is_asked_nothing(federation, sites, caplog):
    asked = []

    class Watched(type(app)):
        def __call__(self, message, context):
            asked.append(context.node_id)
            return app(message, context)

    configs = [site.node_config for site in sites]
    folder = federation([*configs, configs[0]], client_app=Watched())
    present, left_out = enrolment(folder)
    assert present == ["a-0", "b-0", "c-0"] and set(asked) == {2, 3, 4}
    assert [(one["site"], one["node"]) for one in left_out] == [("", 5)]
    told = [record.message for record in caplog.records if "node 5" in record.message]
    assert told == ["going on without it: node 5 is connected and not on the roster"]


def test_a_site_that_is_missing_is_named_and_the_rest_go_on(federation, sites):
    folder = federation([site.node_config for site in sites], nodes=(2, 3, 77))
    present, left_out = enrolment(folder)
    assert present == ["a-0", "b-0"]
    assert left_out[-1]["reason"] == "site c-0 (node 77) is not connected"


def test_with_too_few_the_run_ends_and_says_who_is_missing(federation, sites, tmp_path):
    configs = [site.node_config for site in sites]
    with pytest.raises(FederationError, match=r"site b-0 \(node 76\) is not connected") as caught:
        federation(configs, nodes=(2, 76, 77))
    assert "site c-0 (node 77) is not connected" in str(caught.value)
    assert "node 3 is connected and not on the roster" in str(caught.value)
    assert "c-0" in json.loads((tmp_path / "run" / "status.json").read_text())["error"]


def test_too_few_that_fit_end_the_run_too(federation, sites):
    a, b, c = (site.node_config for site in sites)
    with pytest.raises(FederationError, match="can't start") as caught:
        federation([a, {**b, "site": "a-0"}, {**c, "site": "a-0"}])
    assert str(caught.value).count("says that it is site 'a-0'") == 2


def test_another_domain_or_a_failure_stops_nobody_else(federation, sites, consortium):
    a, b, _ = (site.node_config for site in sites)
    liar = consortium.with_domain(sites[2], "invented").node_config
    _, (one,) = enrolment(federation([a, b, liar]))
    assert one["reason"].startswith("site c-0 (node 4): site c-0: expected the roster's domain 'c'")
    assert one["site"] == "c-0"


def test_a_site_that_asks_for_more_privacy_is_left_out_by_name(federation, sites):
    a, b, c = (site.node_config for site in sites)
    _, (one,) = enrolment(federation([a, b, {**c, "require-privacy": "aegis"}]))
    assert one["reason"].startswith("site c-0 (node 4) failed: site c-0: PrivacyError: this site")


def test_more_clients_than_sites_are_refused_at_once(federation, sites):
    with pytest.raises(FederationError, match="at most the 3 sites of"):
        configs = [site.node_config for site in sites]
        federation(configs, federation__clients=4, federation__minimum_clients=4)


def test_every_message_holds_bits_that_no_other_site_can_guess(federation, sites):
    """Without them a site could work out the id of its neighbour's message, and answer it."""
    nonces = []

    class Watched(type(app)):
        def __call__(self, message, context):
            config: ConfigRecord = message.content["config"]
            nonces.append(str(config["nonce"]))
            return honest.app(message, context)

    federation([site.node_config for site in sites], client_app=Watched())
    # A query, a round of training, and the evaluation of two splits, for three sites.
    assert len(set(nonces)) == len(nonces) == 12
    assert all(len(bytes.fromhex(one)) == 16 for one in nonces)
