"""Ranks of binned scores among all that came before: uniform as long as nothing changes."""

from collections.abc import Sequence
from random import Random


class ConformalRanks:
    r"""Smoothed conformal p-values of scores, the reference's counted as the first ones.

    With N scores before, u = (#{below} + U (#{in the same bin} + 1)) / (N + 1), U uniform on
    [0, 1). If reference and live scores are exchangeable (drawn from one distribution, whatever it
    is), these u are independent and uniform on [0, 1] (Vovk, Nouretdinov and Gammerman, "Testing
    exchangeability on-line", ICML 2003). That is exact for a reference of any size: it is a sample
    like the live scores, not taken for the truth. A high u is a high score.

    Args:
        reference: Counts [bins].
        seed: Of the U, which break ties.
    """

    def __init__(self, reference: Sequence[int], seed: int) -> None:
        self._counts = list(reference)
        self._total = sum(reference)
        self._random = Random(seed)

    def rank(self, code: int) -> float:
        """The rank u of one more score, in bin `code`; O(bins)."""
        below, same = sum(self._counts[:code]), self._counts[code] + 1
        self._counts[code] = same
        self._total += 1
        return (below + self._random.random() * same) / self._total
