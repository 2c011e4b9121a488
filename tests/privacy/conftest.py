import numpy as np
import pytest

from fglguard.graph import EpisodeGraph
from fglguard.packed_graphs import pack


def random_graph(rng, dimension):
    """Two agents that talk to each other, with random features."""
    return EpisodeGraph(
        x=rng.standard_normal((2, dimension)).astype(np.float32),
        kind=np.ones(2, dtype=np.uint8),
        agent_ids=("first", "second"),
        src=np.array([0, 1], dtype=np.int32),
        dst=np.array([1, 0], dtype=np.int32),
        final=1,
    )


@pytest.fixture
def make_graphs():
    """`count` packed graphs of two agents each, labels in turn."""

    def make(count, dimension=24, seed=0):
        rng = np.random.default_rng(seed)
        graphs = [random_graph(rng, dimension) for _ in range(count)]
        return pack(graphs, [number % 2 == 0 for number in range(count)])

    return make
