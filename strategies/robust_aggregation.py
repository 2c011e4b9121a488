"""Aggregation rules that a minority of hostile or broken sites inside a domain can't steer."""

import logging
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.settings import StrategySettings
from strategies.weighting import weighted_sum

logger = logging.getLogger("fglguard")

FEWEST = 3
"""With fewer updates in a domain nothing tells which of them is the wrong one."""

BLOCK_NUMBERS = 2**22
"""How many numbers are sorted at a time: 16 MB, whatever the number of clients."""


def combine(
    vectors: Sequence[NDArray[np.float32]],
    weights: NDArray[np.float64],
    domains: Sequence[str],
    settings: StrategySettings,
) -> NDArray[np.float32]:
    """Put clients' vectors together by the rule that `settings.aggregation` names.

    - `mean`: sum over k of alpha_k v_k.
    - `median`, `trimmed_mean`: sum over domains d of A_d rule(v_k for k in d), with
      A_d = sum of alpha_k over d. Domain-balanced weights thus give every domain 1 / D, size
      weights its share of the nodes.

    Inside a domain the two robust rules count every client once. Yin et al., Byzantine-Robust
    Distributed Learning: Towards Optimal Statistical Rates, 2018, define and analyse them so; and
    with a median weighed by node counts, which clients report themselves, one liar could be the
    majority. They withstand fewer than half of a domain's clients (median), or a share of them up
    to `settings.trim` (trimmed mean). A domain with fewer than 3 updates has no majority: median
    and trimmed mean of two are their mean.

    Strategies with more than one vector a client call this for each of them.

    Args:
        vectors: One a client, each float32 [P], finite.
        weights: alpha, float64 [K]; need not add up to 1.
        domains: Each client's domain, as the roster has it.
        settings: `aggregation` and `trim`.

    Returns:
        float32 [P]. For the mean, added up in the order given, in double precision.
    """
    if settings.aggregation == "mean":
        return weighted_sum(vectors, weights)
    members: dict[str, list[int]] = {}
    for client, domain in enumerate(domains):
        members.setdefault(domain, []).append(client)
    total = np.zeros(vectors[0].shape, dtype=np.float64)
    for clients in members.values():
        left_out = _left_out(len(clients), settings)
        centre = trimmed_mean([vectors[client] for client in clients], left_out)
        total += weights[clients].sum() * centre
    return total.astype(np.float32)


def coordinate_median(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Median of each coordinate, [P]; with an even number the mean of the two in the middle.

    Yin et al. 2018, definition 1.
    """
    return trimmed_mean(vectors, (len(vectors) - 1) // 2)


def trimmed_mean(vectors: Sequence[NDArray[np.float32]], left_out: int) -> NDArray[np.float64]:
    """Mean of each coordinate without its `left_out` smallest and largest values, [P].

    Yin et al. 2018, definition 2. Takes O(P K) time; memory beyond the result does not grow with
    P or K, up to K = `BLOCK_NUMBERS`.
    """
    clients, size = len(vectors), len(vectors[0])
    result = np.empty(size, dtype=np.float64)
    block = max(1, BLOCK_NUMBERS // clients)
    ends = sorted({left_out, clients - 1 - left_out})
    for start in range(0, size, block):
        part = slice(start, start + block)
        values = np.stack([vector[part] for vector in vectors], axis=1)
        if left_out:
            values.partition(ends, axis=1)
        middle = values[:, left_out : clients - left_out]
        result[part] = middle.mean(axis=1, dtype=np.float64)
    return result


def trimmed_count(clients: int, trim: float) -> int:
    """How many values are left out at each end: ceil(trim K), but at least one value stays.

    Rounded up, unlike `scipy.stats.trim_mean`: with 4 clients and trim = 0.2, rounding down would
    leave a hostile client in.
    """
    # The tolerance keeps 0.2 x 15, which is above 3 in floating point, at 3.
    return min(math.ceil(trim * clients - 1e-9), (clients - 1) // 2)


def warn_of_few(domains: Sequence[str], settings: StrategySettings, warned: set[str]) -> None:
    """Warn once for each domain with too few updates for a robust rule; `warned` keeps count."""
    if settings.aggregation == "mean":
        return
    for domain in dict.fromkeys(domains):
        updates = domains.count(domain)
        if updates < FEWEST and domain not in warned:
            warned.add(domain)
            logger.warning(
                "domain %s: strategy.aggregation=%s needs at least %d updates to tell a wrong one, "
                "got %d: their mean is used",
                domain,
                settings.aggregation,
                FEWEST,
                updates,
            )


def _left_out(clients: int, settings: StrategySettings) -> int:
    if settings.aggregation == "median":
        return (clients - 1) // 2
    return trimmed_count(clients, settings.trim)
