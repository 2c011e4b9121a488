import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits
from torch import nn

from fglguard.detector import build_detector
from fglguard.errors import UpdateError
from fglguard.parameters import flatten, layout, load_flat, vector_length


def test_flatten_concatenates_in_named_order_and_load_gives_it_back() -> None:
    model = nn.Linear(3, 2)
    with torch.no_grad():
        model.weight.copy_(torch.arange(6.0).view(2, 3))
        model.bias.copy_(torch.tensor([6.0, 7.0]))
    vector = flatten(model)
    assert vector.dtype == np.float32
    np.testing.assert_array_equal(vector, np.arange(8))

    load_flat(model, np.arange(8, 16, dtype=np.float32), "site-1")
    assert model.weight.tolist() == [[8, 9, 10], [11, 12, 13]]
    assert model.bias.tolist() == [14, 15]
    np.testing.assert_array_equal(vector, np.arange(8))  # a copy, not a view


def test_round_trip_of_a_detector_is_exact() -> None:
    one, other = build_detector("paper", 8, 0), build_detector("paper", 8, 1)
    load_flat(other, flatten(one), "here")
    np.testing.assert_array_equal(flatten(one), flatten(other))


def test_loaded_model_does_not_share_memory_with_the_vector() -> None:
    model = nn.Linear(2, 1)
    vector = np.zeros(3, dtype=np.float32)
    load_flat(model, vector, "here")
    vector[:] = 5
    assert model.bias.item() == 0
    read_only = np.ones(3, dtype=np.float32)
    read_only.flags.writeable = False
    load_flat(model, read_only, "here")
    assert flatten(model).tolist() == [1, 1, 1]


def test_layout_covers_the_vector_without_gaps() -> None:
    model = build_detector("paper", 8, 0)
    vector = flatten(model)
    segments = layout(model)
    assert segments[0].start == 0
    for before, after in pairwise(segments):
        assert before.start + before.size == after.start
    assert segments[-1].span.stop == len(vector)
    for segment in segments:
        part = vector[segment.span].reshape(segment.shape)
        np.testing.assert_array_equal(part, model.get_parameter(segment.name).detach())


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (np.zeros(2, np.float32), r"site-3: expected 3 parameters, got shape \(2,\)"),
        (np.zeros((3, 1), np.float32), r"site-3: expected 3 parameters, got shape \(3, 1\)"),
        (np.zeros(3, np.float64), "site-3: expected a float32 vector, got float64"),
        ([0.0, 0.0, 0.0], "site-3: expected a float32 vector, got list"),
        (np.array([0, np.nan, 0], np.float32), "site-3: .* got 1 NaN or infinite, .* index 1"),
        (np.array([np.inf, 0, -np.inf], np.float32), "site-3: .* got 2 NaN .* index 0"),
    ],
)
def test_unusable_vectors_are_refused_and_leave_the_model_alone(vector, message) -> None:
    model = nn.Linear(2, 1)
    before = flatten(model)
    with pytest.raises(UpdateError, match=message):
        load_flat(model, vector, "site-3")
    np.testing.assert_array_equal(flatten(model), before)


def test_a_length_has_the_same_bits_at_any_number_of_threads() -> None:
    """Against the exactly rounded sum; `numpy.linalg.norm` gives other bits at four threads."""
    draws = np.random.default_rng(0)
    for _ in range(10):
        vector = draws.normal(size=400_000)
        found = []
        for threads in (1, 4):
            with threadpool_limits(threads):
                found.append(vector_length(vector))
        assert found[0] == found[1]
        assert found[0] == pytest.approx(math.sqrt(math.fsum(vector**2)), rel=1e-12)
