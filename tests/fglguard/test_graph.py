import dataclasses

import numpy as np
import pytest

from fglguard.episode import AGENT_KINDS, Agent, Episode, Message
from fglguard.graph import GraphSettings, collate, concatenate, episode_graph, pack

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


def random_graphs(count, seed=0):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        vectors = rng.standard_normal((5, D)).astype(np.float32)
        graphs.append(episode_graph(hand_made(), vectors, GraphSettings(int(rng.integers(0, 4)))))
    return graphs


def test_collate_equals_a_loop_over_graphs():
    """Node k of graph g becomes row (nodes before g) + k; each node gets one self-loop."""
    graphs = random_graphs(7)
    packed = pack(graphs, [True, False, None, True, False, True, False])
    chosen = np.array([4, 0, 6, 0])
    batch = collate(packed, chosen)
    offset, edges, finals = 0, set(), []
    for index in chosen:
        graph = graphs[index]
        nodes = len(graph.x)
        edges |= {(offset + s, offset + d) for s, d in zip(graph.src, graph.dst, strict=True)}
        edges |= {(offset + k, offset + k) for k in range(nodes)}
        finals.append(offset + graph.final)
        assert np.array_equal(batch.x[offset : offset + nodes].numpy(), graph.x)
        offset += nodes
    assert set(zip(batch.src.tolist(), batch.dst.tolist(), strict=True)) == edges
    assert len(batch.src) == len(edges)
    assert batch.final.tolist() == finals
    assert batch.label.tolist() == [0, 1, 0, 1]
    assert batch.graphs == 4


def test_select_and_concatenate_are_inverse():
    packed = pack(random_graphs(6), [True] * 6)
    joined = concatenate([packed.select([0, 1, 2]), packed.select([3, 4, 5])])
    for field in dataclasses.fields(packed):
        assert np.array_equal(getattr(joined, field.name), getattr(packed, field.name)), field.name
