"""What holds for every baseline: seeds, labels, the order of nodes, and reasons."""

from dataclasses import replace

import numpy as np
import pytest

from fglguard.baselines import anomaly, node_classifier
from fglguard.baselines.baseline import run_baseline
from fglguard.baselines.descent import Schedule
from fglguard.baselines.readout import flag_highest, judged_nodes
from fglguard.baselines.registry import BASELINES
from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import PackedGraphs, pack

GRAPH_BASED = [name for name, entry in BASELINES.items() if entry.form == "graphs"]
LABEL_FREE = [name for name, entry in BASELINES.items() if not entry.uses_labels]


@pytest.fixture
def brief(monkeypatch):
    """Two epochs: what is tested here holds at any length of training."""
    short = Schedule(epochs=2, batch_size=16, learning_rate=1e-3)
    monkeypatch.setattr(node_classifier, "SCHEDULE", short)
    original = anomaly.descend
    monkeypatch.setattr(
        anomaly,
        "descend",
        lambda model, graphs, loss, _, seed: original(model, graphs, loss, short, seed),
    )


def scores_of(name, train, test, seed=0):
    outcome = run_baseline(BASELINES[name], train, test, seed)
    assert outcome.reason is None
    return outcome.scores


def test_registry_names_what_each_looks_at() -> None:
    assert list(BASELINES) == [
        "counts",
        "tfidf",
        "hashed_words",
        "last_message",
        "g_safeguard",
        "dominant",
        "cola",
        "blindguard",
    ]
    assert LABEL_FREE == ["dominant", "cola", "blindguard"]
    assert ["g_safeguard", *LABEL_FREE] == GRAPH_BASED
    assert all(name == entry.name for name, entry in BASELINES.items())


@pytest.mark.parametrize("name", BASELINES)
def test_same_seed_same_bits_and_labels_of_the_test_side_are_not_looked_at(
    name, discussions, flipped, brief
) -> None:
    train, test = discussions
    first, second = scores_of(name, train, test), scores_of(name, train, flipped(test))
    np.testing.assert_array_equal(first.episode, second.episode)
    assert first.episode.shape == (len(test),)
    assert (first.node is None) == (name not in GRAPH_BASED)
    if first.node is not None:
        np.testing.assert_array_equal(first.node, second.node)
        other = scores_of(name, train, test, seed=1)
        assert (first.node != other.node).any()


@pytest.mark.parametrize("name", LABEL_FREE)
def test_flipping_all_labels_changes_no_score(name, discussions, flipped, brief) -> None:
    train, test = discussions
    before, after = scores_of(name, train, test), scores_of(name, flipped(train), test)
    np.testing.assert_array_equal(before.node, after.node)
    np.testing.assert_array_equal(before.episode, after.episode)


@pytest.mark.parametrize("name", GRAPH_BASED)
def test_scores_follow_the_agents_when_their_order_changes(name, discussions, brief) -> None:
    train, test = discussions
    turned, order = permuted(test.graphs, seed=4)
    fitted = BASELINES[name].fit(train, 0)
    plain, moved = fitted(test), fitted(replace(test, graphs=turned))
    np.testing.assert_allclose(moved.node, plain.node[order], atol=1e-6)
    np.testing.assert_allclose(moved.episode, plain.episode, atol=1e-6)


@pytest.mark.parametrize("name", GRAPH_BASED)
def test_a_graphs_score_does_not_depend_on_the_others(name, discussions, brief) -> None:
    train, test = discussions
    fitted = BASELINES[name].fit(train, 0)
    alone = [fitted(test.select([g])).episode[0] for g in range(4)]
    np.testing.assert_allclose(alone, fitted(test).episode[:4], atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", LABEL_FREE)
def test_the_agent_that_talks_of_something_else_is_the_oddest(name, discussions) -> None:
    """Of five agents the top one is flagged: by chance it is the attacker in one case of five."""
    train, test = discussions
    judged = judged_nodes(test.graphs)
    graph = np.repeat(np.arange(len(test.graphs)), test.graphs.nodes)[judged]
    flagged = flag_highest(scores_of(name, train, test).node[judged], graph, 1)
    assert flagged[test.node_unsafe[judged] == 1].mean() > 0.6


@pytest.mark.parametrize("name", BASELINES)
def test_five_episodes_or_one_task_give_a_reason(name, discussions) -> None:
    train, test = discussions
    few = run_baseline(BASELINES[name], train.select(np.arange(5)), test, 0)
    assert few.scores is None
    assert few.reason.startswith(f"{name}: expected at least 10 ")
    alike = replace(train, episodes=tuple(replace(e, task=("t",)) for e in train.episodes))
    one = run_baseline(BASELINES[name], alike, test, 0)
    assert one.scores is None
    assert "episodes of at least 2 tasks, got 60 of one" in one.reason


@pytest.mark.parametrize("name", GRAPH_BASED)
def test_nan_features_give_a_reason(name, discussions) -> None:
    train, test = discussions
    x = train.graphs.x.copy()
    x[9, 0] = np.nan
    outcome = run_baseline(
        BASELINES[name], replace(train, graphs=replace(train.graphs, x=x)), test, 0
    )
    assert "NaN or infinity in 1 of 300 training nodes, first in training node 9" in outcome.reason


def permuted(graphs: PackedGraphs, seed: int):
    """The same graphs with each one's nodes in another order, and each new node's old row."""
    random = np.random.default_rng(seed)
    turned, order = [], []
    for g in range(len(graphs)):
        one = graphs.select([g])
        n = len(one.x)
        old = random.permutation(n)
        new = np.argsort(old)
        dst, src = np.array(sorted(zip(new[one.dst], new[one.src], strict=True)), np.int32).T
        turned.append(
            EpisodeGraph(
                one.x[old], one.kind[old], tuple(map(str, old)), src, dst, int(new[one.final[0]])
            )
        )
        order.append(graphs.node_offsets[g] + old)
    labels = [None if y < 0 else bool(y) for y in graphs.label]
    return pack(turned, labels), np.concatenate(order)
