import numpy as np

from fglguard.partitions import partition
from fglguard.partitions.counts import count_shares


def test_counts_equal_a_count_of_the_episodes(make_silo, make_settings):
    silos = [make_silo(("b", "c"), name="one"), make_silo(("a",), name="two")]
    shares = partition(silos, make_settings("label_skew"), 3, seed=0)
    counts = count_shares(shares, silos)
    expected = np.zeros((3, 3, 3, 3), dtype=int)
    for client, share in enumerate(shares):
        for silo, rows in zip(silos, share.indices, strict=True):
            for row, episode in zip(rows, silo.episodes(rows), strict=True):
                domain = "abc".index(episode.domain)
                expected[client, domain, silo.split[row], int(episode.unsafe)] += 1
    assert counts.domains == ["a", "b", "c"]
    assert np.array_equal(counts.held, expected)
    assert counts.held.sum() + counts.nobody.sum() == 120
