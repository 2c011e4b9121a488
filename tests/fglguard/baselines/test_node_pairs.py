"""Pairs against a double loop."""

from fglguard.baselines.node_pairs import pairs_within_graphs
from fglguard.packed_graphs import collate


def test_pairs_are_all_ordered_pairs_of_one_graph(random_graphs) -> None:
    batch = collate(random_graphs(1, 2))
    graph = batch.graph.tolist()
    n = len(graph)
    expected = [(i, j) for i in range(n) for j in range(n) if graph[i] == graph[j]]
    left, right = pairs_within_graphs(batch)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == expected
