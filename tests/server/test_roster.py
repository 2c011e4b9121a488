import json

import numpy as np
import pytest

from fglguard.errors import FederationError
from fglguard.partitions import partition
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from server.roster import read_roster, roster_of
from strategies.cohort import Member


def write(path, sites):
    path.write_text(json.dumps({"sites": sites}))
    return path


def test_a_roster_binds_domains_and_may_cap_nodes(tmp_path):
    sites = [{"site": "x", "domain": "a", "max_nodes": 900}, {"site": "y", "domain": "b"}]
    roster = read_roster(write(tmp_path / "roster.json", sites))
    assert roster.members == (Member(0, "x", "a", 900), Member(1, "y", "b", None))


def test_a_roster_may_bind_each_site_to_a_node(tmp_path):
    """Flower's node ids are whole numbers of 64 bits; JSON keeps them exactly."""
    sites = [
        {"site": "x", "domain": "a", "node": 2**64 - 1, "public_key": "ecdsa-sha2-nistp384 AAAA"},
        {"site": "y", "domain": "b", "node": 12345},
    ]
    roster = read_roster(write(tmp_path / "roster.json", sites))
    assert {node: member.site for node, member in roster.by_node.items()} == {
        2**64 - 1: "x",
        12345: "y",
    }


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([5, None], "a node for every site or for none, got none for y"),
        ([5, 5], "sites 'x' and 'y' have the same node 5"),
        ([5, "6"], "site 'y': node: expected a Flower node id.*got '6'"),
        ([5, True], "node: expected"),
        ([5, 1], "node: expected"),
        ([5, 2**64], "node: expected"),
    ],
)
def test_nodes_that_name_nobody_are_refused(tmp_path, nodes, told):
    entries = [
        {"site": site, "domain": "a", "node": node} for site, node in zip("xy", nodes, strict=True)
    ]
    with pytest.raises(FederationError, match=told):
        read_roster(write(tmp_path / "roster.json", entries))


@pytest.mark.parametrize("most", [0, -1, 1.5, "900", True])
def test_a_cap_that_is_no_count_is_refused(tmp_path, most):
    sites = [{"site": "x", "domain": "a", "max_nodes": most}]
    with pytest.raises(FederationError, match=r"roster\.json: site 'x': max_nodes: expected"):
        read_roster(write(tmp_path / "roster.json", sites))


@pytest.mark.parametrize("sites", ["x", [["x", "a"]], [{"site": "x"}], 3])
def test_another_form_is_refused(tmp_path, sites):
    with pytest.raises(FederationError, match="expected"):
        read_roster(write(tmp_path / "roster.json", sites))


def test_a_simulated_clients_cap_is_what_it_holds(run_config):
    """Counted episode by episode: the fixture's graphs have the agents of the last three rounds."""
    config = run_config()
    settings = RunSettings.from_flat(config)
    silo = Silo.open(config["corpus.path"])
    (fingerprint,) = silo.encoder_fingerprints()
    roster = roster_of(settings, fingerprint)
    shares = partition([silo], settings.partition, 4, settings.seed)
    for member, share in zip(roster.members, shares, strict=True):
        rows = share.indices[0]
        train = rows[np.asarray(silo.split[rows]) == 0]
        nodes = sum(len(episode.agents) for episode in silo.episodes(train))
        assert (member.site, member.max_nodes) == (share.site, nodes)
