import numpy as np

from fglguard.segments import joined_offsets, segment_rows


def test_rows_of_chosen_segments_by_hand() -> None:
    """Segments [0, 1], [], [2, 3, 4]; chosen: the last, the empty one, the first, the last."""
    rows, offsets = segment_rows(np.array([0, 2, 2, 5]), np.array([2, 1, 0, 2]))
    assert rows.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert offsets.tolist() == [0, 3, 3, 5, 8]


def test_offsets_of_parts_follow_each_other() -> None:
    joined = joined_offsets([np.array([0, 2, 3]), np.array([0]), np.array([0, 4])])
    assert joined.tolist() == [0, 2, 3, 7]
