"""Samples hold the same episodes in every form, node by node."""

from dataclasses import replace

import numpy as np
import pytest

from fglguard.baselines.samples import join, node_labels, read_samples
from fglguard.encoder import load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.silo import Silo


def test_node_labels_follow_the_nodes_of_the_graph() -> None:
    """Two rounds ago only `gone` spoke: with a window of one round it is no node."""
    agents = (
        Agent("gone", "agent", True),
        Agent("user", "user"),
        Agent("bad", "agent", True),
        Agent("good", "agent", False),
    )
    episode = Episode(
        id="e",
        domain="d",
        task=("t",),
        agents=agents,
        messages=(Message(0, "gone", ("good",), "x"), Message(1, "bad", ("user",), "y")),
        final_agent="good",
    )
    vectors = np.zeros((2, 4), np.float32)
    for rounds, ids, labels in (
        (0, ("gone", "user", "bad", "good"), [1, -1, 1, 0]),
        (1, ("user", "bad", "good"), [-1, 1, 0]),
    ):
        settings = GraphSettings(rounds)
        assert episode_graph(episode, vectors, settings).agent_ids == ids
        assert node_labels(episode, settings).tolist() == labels


def test_last_messages_are_the_final_agents_last_words(make_silo, make_episode, tmp_path) -> None:
    """Against encoding that text; zeros where the final agent is silent."""
    encoder = load_encoder("hashed-words")
    spoken = make_episode(0, "a", True)
    silent = replace(spoken, id="silent", final_agent="user", messages=spoken.messages[1:])
    silent = replace(silent, messages=tuple(m for m in silent.messages if m.sender != "user"))
    silo = Silo.create(tmp_path / "s", [spoken, silent])
    silo.prepare(encoder, GraphSettings())
    samples = read_samples(silo, [1, 0], encoder.fingerprint, GraphSettings())
    last = [m.text for m in spoken.messages if m.sender == spoken.final_agent][-1]
    np.testing.assert_array_equal(samples.last_messages[1], encoder.encode([last])[0])
    assert not samples.last_messages[0].any()
    assert [episode.id for episode in samples.episodes] == ["silent", spoken.id]


def test_selecting_and_joining_give_back_the_same(discussions) -> None:
    train, _ = discussions
    again = join([train.select(np.arange(0, 20)), train.select(np.arange(20, 60))])
    assert again.episodes == train.episodes
    for name in ("x", "src", "dst", "node_offsets", "edge_offsets", "final", "label"):
        np.testing.assert_array_equal(getattr(again.graphs, name), getattr(train.graphs, name))
    np.testing.assert_array_equal(again.node_unsafe, train.node_unsafe)
    np.testing.assert_array_equal(again.last_messages, train.last_messages)
    assert len(train.select([])) == 0


def test_a_silo_that_was_not_prepared_is_an_error(tmp_path, make_episode) -> None:
    silo = Silo.create(tmp_path / "s", [make_episode(0, "a", True)])
    with pytest.raises(SiloError, match="no graphs of the last 3 rounds"):
        read_samples(silo, [0], "hashed-words-0", GraphSettings())
