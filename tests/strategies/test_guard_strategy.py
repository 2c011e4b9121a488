"""What the strategy makes of replies that come late, twice, in another order or not at all.

The grid is the in-process one, with real clients behind it; only the delivery of replies is bent.
"""

import copy
import dataclasses
import logging

import numpy as np
import pytest
from flwr.app import ConfigRecord

from client.app import app as client_app
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.errors import QuorumError
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed
from server.inprocess import InProcessGrid
from strategies.cohort import Cohort, Member
from strategies.registry import build_strategy
from strategies.updates import pack_parameters, unpack_parameters

SITES = ["a-0", "a-1", "b-0", "b-1"]


class Told:
    """An observer that keeps what it is told."""

    def __init__(self):
        self.counted, self.left, self.failures = [], [], {}

    def trained(self, server_round, update, weight):
        self.counted.append(update.member.site)

    def surplus(self, server_round, update):
        self.left.append(update.member.site)

    def failed(self, phase, server_round, failure):
        self.failures[failure.member.site] = failure.reason


@pytest.fixture
def attempt(make_silo):
    """One round of training over four clients; `bend` changes the list of replies."""
    silo = make_silo()
    dimension = load_encoder("hashed-words").dimension

    def go(bend=lambda replies: replies, deployed=False, faults=None, **federation):
        config = composed("detector=paper", "privacy=none") | {
            "corpus.path": str(silo.path),
            "corpus.encoder": "hashed-words",
            "federation.clients": 4,
            **{f"faults.{name}": value for name, value in (faults or {}).items()},
        }
        nodes = [{"partition-id": i, "num-partitions": 4} for i in range(4)]
        grid = InProcessGrid(client_app, nodes, config)
        settings = RunSettings.from_flat(config)
        changed = dataclasses.replace(
            settings.federation, roster="roster.json" if deployed else "", **federation
        )
        settings = dataclasses.replace(settings, federation=changed)
        members = zip(grid.get_node_ids(), SITES, strict=True)
        cohort = Cohort({node: Member(i, s, s[0]) for i, (node, s) in enumerate(members)})
        told = Told()
        strategy = build_strategy(cohort, settings, told)
        arrays = pack_parameters(flatten(build_detector("paper", dimension, seed=0)))
        messages = strategy.configure_train(1, arrays, ConfigRecord({"seed": 0}), grid)
        arrays, _ = strategy.aggregate_train(1, bend(list(grid.send_and_receive(messages))))
        return told, unpack_parameters(arrays)

    return go


def test_the_order_of_replies_changes_no_bit(attempt):
    _, straight = attempt()
    _, backwards = attempt(lambda replies: replies[::-1])
    assert np.array_equal(straight, backwards)


def test_a_silent_client_is_named(attempt):
    told, _ = attempt(lambda replies: replies[1:], minimum_clients=3)
    assert told.failures == {"a-0": "no reply within the time limit"}
    with pytest.raises(QuorumError, match=r"got 3\n- site a-0: no reply within the time limit"):
        attempt(lambda replies: replies[1:])


def test_a_second_reply_counts_once(attempt, caplog):
    _, once = attempt()
    with caplog.at_level(logging.ERROR, "fglguard"):
        told, twice = attempt(lambda replies: [*replies, copy.copy(replies[2])])
    assert told.counted == SITES
    assert "second reply from site b-0" in caplog.text
    assert np.array_equal(once, twice)


def test_a_reply_of_one_who_was_not_asked_is_left_out(attempt, caplog):
    """Of four clients two are asked; a third's reply comes in under its own node id."""
    asked = []

    def bend(replies):
        asked.extend(reply.metadata.src_node_id for reply in replies)
        stranger = next(node for node in range(2, 6) if node not in asked)
        replies[0].metadata.__dict__["_src_node_id"] = stranger
        return replies

    with caplog.at_level(logging.ERROR, "fglguard"):
        told, _ = attempt(bend, fraction=0.5, minimum_clients=1)
    assert "which was not asked" in caplog.text
    assert told.counted == [SITES[asked[1] - 2]]
    assert told.failures == {SITES[asked[0] - 2]: "no reply within the time limit"}


def test_in_a_deployment_the_first_to_arrive_count(attempt):
    """m = 2, all four asked, replies in reverse: the last two of the roster, in roster order."""
    told, _ = attempt(
        lambda replies: replies[::-1], deployed=True, fraction=0.5, over_selection=1.0
    )
    assert told.counted == ["b-0", "b-1"]
    assert told.left == ["a-0", "a-1"]
    assert not told.failures


def test_in_a_simulation_arrival_does_not_matter(attempt):
    told, _ = attempt(lambda replies: replies[::-1], fraction=0.5, over_selection=1.0)
    assert told.counted == ["a-0", "a-1"]


def test_surplus_makes_up_for_the_silent(attempt):
    """Three of four asked for two: with one silent the other two count and nothing is left."""
    told, _ = attempt(lambda replies: replies[1:], fraction=0.5, over_selection=0.5)
    assert len(told.counted) == 2
    assert not told.left
    assert len(told.failures) == 1


def test_only_the_first_few_failures_are_told_with_their_tracebacks(attempt, monkeypatch):
    """All four clients drop out: as a simulated fault without any traceback, as a bug with some."""
    with pytest.raises(QuorumError) as caught:
        attempt(faults={"crash_round": 1})
    assert str(caught.value).count("Traceback") == 1
    with pytest.raises(QuorumError) as caught:
        attempt(faults={"dropout": 1.0})
    text = str(caught.value)
    assert [f"- site {site}: SimulatedFault" in text for site in SITES] == [True] * 4
    assert text.count("Traceback") == 0
    monkeypatch.setattr("client.faults.SimulatedFault", RuntimeError)
    with pytest.raises(QuorumError) as caught:
        attempt(faults={"dropout": 1.0})
    text = str(caught.value)
    assert [f"- site {site}: RuntimeError" in text for site in SITES] == [True] * 4
    assert text.count("Traceback") == 3
