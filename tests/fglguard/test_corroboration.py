import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fglguard.corroboration import corroborate


@st.composite
def scored_graphs(draw):
    n = draw(st.integers(1, 8))
    scores = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return np.array(scores), pairs[:, 0], pairs[:, 1]


@given(scored_graphs())
def test_equals_brute_force_and_torch_equals_numpy(graph) -> None:
    scores, src, dst = graph
    expected = [
        max([scores[j], *(scores[i] for i, to in zip(src, dst, strict=True) if to == j)])
        for j in range(len(scores))
    ]
    before = scores.copy()
    np.testing.assert_array_equal(corroborate(scores, src, dst), expected)
    np.testing.assert_array_equal(scores, before)
    tensors = corroborate(torch.tensor(scores), torch.tensor(src), torch.tensor(dst))
    np.testing.assert_array_equal(tensors, expected)


@given(scored_graphs(), st.floats(0, 1))
def test_never_lowers_a_score_and_is_monotone(graph, rise) -> None:
    scores, src, dst = graph
    raised = corroborate(scores, src, dst)
    assert (raised >= scores).all()
    assert raised.max() == scores.max()
    higher = np.maximum(scores, rise)
    assert (corroborate(higher, src, dst) >= raised).all()


def test_reaches_one_hop_along_a_chain() -> None:
    """0 -> 1 -> 2: the first application moves 0.9 to node 1 only, the second to node 2."""
    scores, src, dst = np.array([0.9, 0.1, 0.2]), np.array([0, 1]), np.array([1, 2])
    once = corroborate(scores, src, dst)
    assert once.tolist() == [0.9, 0.9, 0.2]
    assert corroborate(once, src, dst).tolist() == [0.9, 0.9, 0.9]
