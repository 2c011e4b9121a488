"""The population stability index: how far two histograms are apart."""

from collections.abc import Sequence

import numpy as np

from fglguard.errors import DriftError


def population_stability_index(live: Sequence[int], reference: Sequence[int]) -> float:
    r"""PSI = sum_i (p_i - q_i) ln(p_i / q_i), p of the live counts, q of the reference.

    It is the Kullback-Leibler divergence both ways, summed (Jeffreys 1946): at least 0, the same
    when the two are exchanged. Rules of thumb call 0.1 to 0.25 a moderate shift and more a large
    one, yet small samples reach that without any: see `expected_without_drift`.

    An empty bin would make it infinite, so both are smoothed towards the two together: with counts
    n_i of n, m_i of m, and K the number of bins in which either has a score,

        p_i = (n_i + (K / 2) c_i) / (n + K / 2),   c_i = (n_i + m_i) / (n + m),

    and q_i likewise. That is half a count a bin (Jeffreys' prior) on average. Where both are empty
    p_i = q_i = 0, which adds nothing, and counts in proportion give 0 whatever n and m are, which
    half a count in every bin would not.

    Args:
        live: Counts [bins].
        reference: Counts [bins], of the same bins.

    Raises:
        DriftError: There are no live or no reference scores, or the bins differ in number.
    """
    n, m = _counts(live, reference)
    together = (n + m) / (n.sum() + m.sum())
    seen = together > 0
    prior = seen.sum() / 2 * together[seen]
    p = (n[seen] + prior) / (n.sum() + prior.sum())
    q = (m[seen] + prior) / (m.sum() + prior.sum())
    return float(np.sum((p - q) * np.log(p / q)))


def expected_without_drift(live: Sequence[int], reference: Sequence[int]) -> float:
    """What the PSI of two samples of one distribution is on average: (K - 1) (1 / n + 1 / m).

    In large samples PSI / (1 / n + 1 / m) is chi-squared with K - 1 degrees of freedom (Yurdakul,
    "Statistical Properties of Population Stability Index", 2018); K, n and m as in
    `population_stability_index`.

    Raises:
        DriftError: As there.
    """
    n, m = _counts(live, reference)
    occupied = int(np.count_nonzero(n + m))
    return float((occupied - 1) * (1 / n.sum() + 1 / m.sum()))


def _counts(
    live: Sequence[int], reference: Sequence[int]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    n, m = np.array(live, np.float64), np.array(reference, np.float64)
    if n.shape != m.shape:
        raise DriftError(f"expected as many live as reference bins, got {n.shape} and {m.shape}")
    if not n.sum() or not m.sum():
        raise DriftError(
            f"expected live and reference scores, got {n.sum():g} and {m.sum():g} of them"
        )
    return n, m
