"""Aggregation weights and weighted sums of updates."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def size_weights(nodes: Sequence[int]) -> NDArray[np.float64]:
    """Weigh each client by its number of nodes: alpha_k = N_k / sum of N.

    McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data,
    2017, with N counted in graph nodes, which is what the local loss averages over.
    """
    counts = np.asarray(nodes, dtype=np.float64)
    weights: NDArray[np.float64] = counts / counts.sum()
    return weights


def domain_balanced_weights(domains: Sequence[str], nodes: Sequence[int]) -> NDArray[np.float64]:
    """Give every domain the same influence: alpha_k = (1 / D) N_k / (sum of N in k's domain).

    D is the number of domains among `domains`. Neither a silo's size nor splitting it changes what
    its domain weighs; with one domain these are the size weights. FGLGuard, arXiv 2609.02967.
    """
    counts = np.asarray(nodes, dtype=np.float64)
    present, code = np.unique(np.asarray(domains, dtype=str), return_inverse=True)
    totals = np.bincount(code, weights=counts, minlength=len(present))
    weights: NDArray[np.float64] = counts / totals[code] / len(present)
    return weights


def weighted_sum(
    vectors: Sequence[NDArray[np.float32]], weights: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Sum of weights[k] * vectors[k], added up in order in double precision, shape [P]."""
    total = np.zeros(vectors[0].shape, dtype=np.float64)
    weighed = np.empty_like(total)  # a new array for each of many vectors would cost page faults
    for vector, weight in zip(vectors, weights, strict=True):
        total += np.multiply(vector, weight, out=weighed)
    return total.astype(np.float32)
