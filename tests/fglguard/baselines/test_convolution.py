"""Sparse convolution equals the dense formula."""

import numpy as np
import torch

from fglguard.baselines.convolution import convolve, normalised, undirected
from fglguard.packed_graphs import collate


def test_convolution_equals_dense_matrices(random_graphs) -> None:
    """D^-1/2 (A + I) D^-1/2 X with A the union of both directions, by numpy."""
    batch = collate(random_graphs(3, 5))
    n = len(batch.x)
    a = np.zeros((n, n))
    a[batch.dst.numpy(), batch.src.numpy()] = 1
    a = np.maximum(a, a.T)
    scale = 1 / np.sqrt(a.sum(1))
    expected = scale[:, None] * a * scale @ batch.x.numpy()
    edges = undirected(batch)
    keys = edges.dst * n + edges.src
    assert (keys.diff() > 0).all()
    assert len(keys) == a.sum()
    found = convolve(batch.x, edges, normalised(edges))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)
    assert found.dtype == torch.float32
