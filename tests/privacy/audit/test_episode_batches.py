import numpy as np
import pytest

from fglguard.errors import PrivacyError
from privacy.audit.episode_batches import distinct_graphs, draw_batch


def test_of_equal_graphs_the_first_stays(make_graphs):
    graphs = make_graphs(4).select([0, 1, 1, 2, 0, 3])
    assert distinct_graphs(graphs, np.arange(6)).tolist() == [0, 1, 3, 5]


def test_members_come_first_and_no_candidate_twice(make_graphs):
    graphs = make_graphs(30)
    batch = draw_batch(graphs, np.arange(30), 4, 10, 15, seed=(0, 1))
    assert (len(batch.graphs), batch.is_member.sum()) == (14, 4)
    # Two agents a graph, all different: 8 vectors of members, 15 of the 20 others.
    assert (len(batch.utterances), batch.is_spoken.sum()) == (23, 8)
    assert len(np.unique(batch.utterances, axis=0)) == 23
    members = {row.tobytes() for row in batch.graphs.x[:8]}
    assert {row.tobytes() for row in batch.utterances[batch.is_spoken]} == members


def test_the_same_seed_draws_the_same_batch(make_graphs):
    graphs = make_graphs(30)
    first, again, other = (
        draw_batch(graphs, np.arange(30), 4, 10, 15, seed=(0, n)) for n in (1, 1, 2)
    )
    assert np.array_equal(first.graphs.x, again.graphs.x)
    assert not np.array_equal(first.graphs.x, other.graphs.x)


def test_too_few_episodes_are_told(make_graphs):
    with pytest.raises(PrivacyError, match=r"at least 14 different labelled.*got 12"):
        draw_batch(make_graphs(12), np.arange(12), 4, 10, 15, seed=(0,))
