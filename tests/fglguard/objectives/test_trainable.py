import numpy as np
import torch

from fglguard.objectives.trainable import join_parts, trainable_parts
from fglguard.parameters import flatten


def test_parts_are_the_parameters_and_join_to_the_vector(tiny):
    detector = tiny()
    vector = flatten(detector)
    parts = trainable_parts(detector, vector)
    for part, parameter in zip(parts, detector.parameters(), strict=True):
        assert torch.equal(part, parameter)
    assert np.array_equal(join_parts(detector, parts), vector)


def test_frozen_parameters_have_no_part_and_zeros_in_the_vector(tiny):
    """W is 4 x 3, so the head's four numbers come after the first twelve."""
    detector = tiny()
    detector.projection.requires_grad_(False)
    vector = np.arange(16, dtype=np.float32)
    (part,) = trainable_parts(detector, vector)
    assert part.tolist() == [12, 13, 14, 15]
    assert join_parts(detector, [part]).tolist() == [0] * 12 + [12, 13, 14, 15]


def test_parts_share_no_memory_with_the_vector(tiny):
    vector = np.zeros(16, dtype=np.float32)
    trainable_parts(tiny(), vector)[0].fill_(1)
    assert not vector.any()
