import dataclasses

import numpy as np
import pytest

from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import collate, concatenate, pack

D = 3


def random_graphs(count, seed=0, edge_width=2):
    """One to five nodes a graph; each ordered pair is an edge with probability one half."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        nodes = int(rng.integers(1, 6))
        pairs = [
            (d, s) for d in range(nodes) for s in range(nodes) if s != d and rng.random() < 0.5
        ]
        dst, src = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        graphs.append(
            EpisodeGraph(
                x=rng.standard_normal((nodes, D)).astype(np.float32),
                kind=rng.integers(0, 3, nodes).astype(np.uint8),
                agent_ids=tuple(f"a{k}" for k in range(nodes)),
                src=src,
                dst=dst,
                final=int(rng.integers(nodes)),
                edge=rng.standard_normal((len(src), edge_width)).astype(np.float32),
            )
        )
    return graphs


def test_collate_equals_a_loop_over_graphs():
    """Node k of graph g becomes row (nodes before g) + k; each node gets one self-loop."""
    graphs = random_graphs(7)
    packed = pack(graphs, [True, False, None, True, False, True, False])
    chosen = np.array([4, 0, 6, 0])
    batch = collate(packed, chosen)
    offset, edges, finals, carried = 0, set(), [], []
    for index in chosen:
        graph = graphs[index]
        nodes = len(graph.x)
        edges |= {(offset + s, offset + d) for s, d in zip(graph.src, graph.dst, strict=True)}
        edges |= {(offset + k, offset + k) for k in range(nodes)}
        finals.append(offset + graph.final)
        carried.append(graph.edge)
        assert np.array_equal(batch.x[offset : offset + nodes].numpy(), graph.x)
        offset += nodes
    assert set(zip(batch.src.tolist(), batch.dst.tolist(), strict=True)) == edges
    assert len(batch.src) == len(edges)
    silent = np.zeros((offset, 2))
    assert np.array_equal(batch.edge.numpy(), np.concatenate([*carried, silent]))
    assert batch.final.tolist() == finals
    assert batch.label.tolist() == [0, 1, 0, 1]
    assert batch.graphs == 4


def test_select_and_concatenate_are_inverse():
    packed = pack(random_graphs(6), [True] * 6)
    joined = concatenate([packed.select([0, 1, 2]), packed.select([3, 4, 5])])
    for field in dataclasses.fields(packed):
        assert np.array_equal(getattr(joined, field.name), getattr(packed, field.name)), field.name


def test_edges_carry_features_in_all_graphs_or_in_none():
    graphs = random_graphs(4)
    plain = [dataclasses.replace(graph, edge=None) for graph in graphs]
    packed = pack(plain)
    assert packed.edge.shape == (len(packed.src), 0)
    assert collate(packed).edge.shape == (len(packed.src) + len(packed.x), 0)
    with pytest.raises(
        ValueError, match="edge and flow features in all or in none, got them in 2 of 4"
    ):
        pack(graphs[:2] + plain[2:])
