"""Whom a round of training asks, and whose updates count."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

SIMULATED_SECONDS = "simulated_seconds"
"""Metric in which a simulated client tells how long its training would have taken."""

STREAM = 0x5A3F
"""Keeps the draws of samples apart from every other use of a run's seed."""


def clients_needed(clients: int, fraction: float) -> int:
    """How many updates a round of training takes: m = max(1, ceil(fraction * K)).

    The product is exact for the decimal that was written, so that 0.07 of 100 clients are 7.
    """
    return max(1, math.ceil(Fraction(repr(fraction)) * clients))


def clients_asked(clients: int, needed: int, over_selection: float) -> int:
    """How many clients are asked so that m updates come in time: min(K, ceil(m (1 + o))).

    Over-selection: Bonawitz et al., Towards Federated Learning at Scale: System Design, 2019.
    """
    return min(clients, math.ceil(needed * (1 + Fraction(repr(over_selection)))))


def draw_clients(
    indices: Sequence[int], count: int, seed: int, server_round: int, attempt: int
) -> list[int]:
    """Draw `count` of these roster indices without replacement, ascending.

    Every subset of that size is equally likely. The draw depends on the arguments alone, so every
    backend, and a run that is resumed, asks the same clients; another round or attempt draws anew.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, STREAM, server_round, attempt]))
    drawn = rng.choice(np.sort(np.asarray(indices, dtype=np.int64)), size=count, replace=False)
    return sorted(int(index) for index in drawn)


def first_to_finish(finished: Sequence[tuple[float, int]], needed: int) -> list[int]:
    """Which of these count, as ascending positions: the `needed` with the smallest keys.

    Args:
        finished: Of each client, when it finished and its roster index, which settles ties.
        needed: How many count.
    """
    order = sorted(range(len(finished)), key=lambda position: finished[position])
    return sorted(order[:needed])
