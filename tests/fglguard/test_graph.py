import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fglguard.episode import Agent, Episode, Message
from fglguard.episode_rules import AGENT_KINDS
from fglguard.errors import SettingsError
from fglguard.graph import GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed

D = 3


def hand_made() -> Episode:
    """Rounds 0 to 3. The last three are 1 to 3, so the user, who speaks in round 0, is silent."""
    return Episode(
        id="e",
        domain="d",
        task=("task:t",),
        agents=(
            Agent("user", "user"),
            Agent("agent", "agent"),
            Agent("tool", "tool"),
            Agent("idle", "agent"),
        ),
        messages=(
            Message(0, "user", ("agent",), "ask"),
            Message(1, "agent", ("tool",), "call one", "call"),
            Message(1, "agent", ("tool",), "call two", "call"),
            Message(1, "tool", ("agent",), "result", "result"),
            Message(3, "agent", ("user",), "answer"),
        ),
        final_agent="agent",
    )


VECTORS = np.array([[9, 9, 9], [1, 0, 0], [3, 0, 0], [0, 5, 0], [0, 0, 4]], dtype=np.float32)


def test_node_features_and_edges_by_hand():
    """agent: round 1 averages its two calls to (2, 0, 0), round 3 is (0, 0, 4); their mean is
    (1, 0, 2). tool: (0, 5, 0). user: addressed in round 3, silent in the window, zeros. idle: no.
    """
    graph = episode_graph(hand_made(), VECTORS, GraphSettings(rounds=3))
    assert graph.agent_ids == ("user", "agent", "tool")
    assert graph.x == pytest.approx(np.array([[0, 0, 0], [1, 0, 2], [0, 5, 0]]))
    assert [AGENT_KINDS[k] for k in graph.kind] == ["user", "agent", "tool"]
    named = {
        (graph.agent_ids[s], graph.agent_ids[d]) for s, d in zip(graph.src, graph.dst, strict=True)
    }
    assert named == {("agent", "tool"), ("tool", "agent"), ("agent", "user")}
    assert len(graph.src) == 3
    assert graph.agent_ids[graph.final] == "agent"


def test_all_rounds_bring_the_users_words_in():
    graph = episode_graph(hand_made(), VECTORS, GraphSettings(rounds=0))
    assert graph.x[0] == pytest.approx([9, 9, 9])
    assert ("user", "agent") in {
        (graph.agent_ids[s], graph.agent_ids[d]) for s, d in zip(graph.src, graph.dst, strict=True)
    }


def test_the_order_of_agents_only_orders_the_rows():
    episode = hand_made()
    turned = dataclasses.replace(episode, agents=episode.agents[::-1])
    one = episode_graph(episode, VECTORS, GraphSettings())
    two = episode_graph(turned, VECTORS, GraphSettings())
    rows = [two.agent_ids.index(name) for name in one.agent_ids]
    assert np.array_equal(two.x[rows], one.x)


@st.composite
def episodes(draw):
    """Any episode of up to five agents and twelve messages."""
    names = [f"a{k}" for k in range(draw(st.integers(1, 5)))]
    count = draw(st.integers(1, 12))
    rounds = sorted(draw(st.lists(st.integers(0, 6), min_size=count, max_size=count)))
    said = tuple(
        Message(
            number,
            draw(st.sampled_from(names)),
            tuple(draw(st.lists(st.sampled_from(names), max_size=3))),
            "text",
        )
        for number in rounds
    )
    agents = tuple(Agent(name, draw(st.sampled_from(AGENT_KINDS))) for name in names)
    return Episode("e", "d", ("task:t",), agents, said, draw(st.sampled_from(names)))


def test_last_utterances_and_messages_by_hand():
    """The agent's last words within rounds 1 to 3 are (0, 0, 4), the tool's (0, 5, 0). The edge
    agent -> tool averages two calls to (2, 0, 0); the other two edges carry one message each.
    """
    graph = episode_graph(hand_made(), VECTORS, GraphSettings(3, "mean_last", messages=True))
    last = np.array([[0, 0, 0], [0, 0, 4], [0, 5, 0]])
    mean = np.array([[0, 0, 0], [1, 0, 2], [0, 5, 0]])
    assert graph.x == pytest.approx(np.concatenate([mean, last], axis=1))
    alone = episode_graph(hand_made(), VECTORS, GraphSettings(3, "last"))
    assert alone.x == pytest.approx(last)
    assert alone.edge is None
    named = [
        (graph.agent_ids[s], graph.agent_ids[d]) for s, d in zip(graph.src, graph.dst, strict=True)
    ]
    assert named == [("agent", "user"), ("tool", "agent"), ("agent", "tool")]
    assert graph.edge == pytest.approx(np.array([[0, 0, 4], [0, 5, 0], [2, 0, 0]]))


@given(episodes(), st.integers(0, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_graphs_equal_the_definition_written_as_loops(episode, window, seed):
    """The definition, message by message, in float64."""
    vectors = np.random.default_rng(seed).standard_normal((len(episode.messages), D))
    last = episode.messages[-1].round
    inside = [
        (m, v)
        for m, v in zip(episode.messages, vectors, strict=True)
        if window == 0 or m.round > last - window
    ]
    heard_or_spoke = {episode.final_agent}.union(*({m.sender, *m.receivers} for m, _ in inside))
    expected_ids = tuple(a.id for a in episode.agents if a.id in heard_or_spoke)
    wanted = GraphSettings(window, "mean_last", messages=True)
    graph = episode_graph(episode, vectors.astype(np.float32), wanted)
    plain = episode_graph(episode, vectors.astype(np.float32), GraphSettings(window))
    assert np.array_equal(graph.x[:, :D], plain.x)
    assert graph.agent_ids == expected_ids
    assert graph.agent_ids[graph.final] == episode.final_agent
    for name, row, kind in zip(graph.agent_ids, graph.x, graph.kind, strict=True):
        assert AGENT_KINDS[kind] == episode.kinds[name]
        turns = [
            np.mean([v for m, v in inside if m.sender == name and m.round == t], axis=0)
            for t in sorted({m.round for m, _ in inside if m.sender == name})
        ]
        mean = np.mean(turns, axis=0) if turns else np.zeros(D)
        last = next((v for m, v in inside[::-1] if m.sender == name), np.zeros(D))
        assert row == pytest.approx(np.concatenate([mean, last]), abs=1e-5)
    edges = [
        (graph.agent_ids[s], graph.agent_ids[d]) for s, d in zip(graph.src, graph.dst, strict=True)
    ]
    assert len(edges) == len(set(edges))
    assert set(edges) == {(m.sender, r) for m, _ in inside for r in m.receivers if r != m.sender}
    for (sender, receiver), row in zip(edges, graph.edge, strict=True):
        sent = [v for m, v in inside if m.sender == sender and receiver in m.receivers]
        assert row == pytest.approx(np.mean(sent, axis=0), abs=1e-5)


def test_one_vector_a_message_is_demanded():
    with pytest.raises(ValueError, match="5 messages"):
        episode_graph(hand_made(), VECTORS[:4], GraphSettings())


@pytest.mark.parametrize("rounds", [-1, 1.5, True, "3"])
def test_the_window_is_checked(rounds):
    with pytest.raises(SettingsError, match="graph rounds"):
        GraphSettings(rounds)


def test_features_are_checked():
    with pytest.raises(SettingsError, match="node_feature: expected one of mean, last, mean_last"):
        GraphSettings(node_feature="first")
    with pytest.raises(SettingsError, match="messages: expected true or false, got 1"):
        GraphSettings(messages=1)


def test_the_fingerprint_holds_encoder_and_window():
    prints = {GraphSettings(r).fingerprint(e) for r in (0, 3) for e in ("a-1", "b-2")}
    assert len(prints) == 4
    assert GraphSettings(3).fingerprint("a-1") == GraphSettings().fingerprint("a-1")


def test_the_fingerprint_tells_features_apart_but_keeps_the_plain_ones():
    """Silos prepared before there were other features must stay valid: SHA-256 of
    {"encoder": "a-1", "format": 1, "rounds": 3}, computed apart.
    """
    assert GraphSettings().fingerprint("a-1") == "7fb6d26f593668e1"
    kinds = [(f, m) for f in ("mean", "last", "mean_last") for m in (False, True)]
    assert len({GraphSettings(3, f, m).fingerprint("a-1") for f, m in kinds}) == 6


def test_settings_of_a_run_give_its_graphs():
    run = RunSettings.from_flat(
        composed("detector=paper", "privacy=none") | {"detector.rounds": 2}
    ).detector
    assert GraphSettings.of(run) == GraphSettings(2)
    for feature in ("receiver", "sender", "both", "none"):
        assert not GraphSettings.of(dataclasses.replace(run, edge_feature=feature)).messages
    other = dataclasses.replace(run, edge_feature="message", node_feature="mean_last")
    assert GraphSettings.of(other) == GraphSettings(2, "mean_last", messages=True)
