"""Arrays as they come back from clients: what a header claims is held against the bytes."""

import io

import numpy as np
import pytest
from flwr.app import Array

from fglguard.errors import UpdateError
from strategies.updates import to_numpy


def test_an_array_comes_back_as_it_was():
    for values in (np.arange(7, dtype=np.float32), np.zeros((0,), np.int64), np.ones((2, 3))):
        assert np.array_equal(to_numpy(Array(values), "x"), values)


@pytest.mark.parametrize("claimed", [(10**15,), (10**9, 10**9), (5,), (3,)])
def test_a_header_that_claims_another_size_is_refused_before_anything_is_allocated(claimed):
    """Sixteen bytes are four float32: a claim of 10^15 would ask for petabytes."""
    data = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": claimed}
    np.lib.format.write_array_header_1_0(data, header)
    array = Array("float32", claimed, "numpy.ndarray", data.getvalue() + b"\0" * 16)
    with pytest.raises(UpdateError, match="x: expected a serialised array"):
        to_numpy(array, "x")
