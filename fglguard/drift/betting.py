"""A bet against uniform ranks: its capital is evidence of change, at any time one looks."""

from typing import Literal

Shift = Literal["higher", "lower", "further apart", "closer together"]
SHIFTS: tuple[Shift, ...] = ("higher", "lower", "further apart", "closer together")
STRENGTHS = (0.25, 1.0)
"""A strong bet soon finds a large change; a weak one a small change, sooner or later."""
MOST_CAPITAL = 1e100
"""What an account earns beyond is thrown away, which keeps every guarantee and any float finite."""


class BettingTest:
    r"""Capital, at first 1, that is staked on ranks u_1, u_2, ... being other than uniform.

    A bet multiplies its stake by 1 + eps g(u), with g(u) = u - 1/2 (scores went up), 1/2 - u
    (down), |2u - 1| - 1/2 (apart) or 1/2 - |2u - 1| (together), and eps = 1/4 or 1. Each has mean 1
    over uniform u and is at least 1/2: betting functions as in Vovk, Petej, Nouretdinov, Ahlberg,
    Carlsson and Gammerman, "Retrain or not retrain: conformal test martingales for change-point
    detection" (2021). Since a change may come late, capital is held back: before the t-th rank
    1 / (t + 1) of the reserve is dealt out to the eight accounts evenly, so that 1 / (t + 1) of the
    capital is still in reserve after it and has lost nothing. A change at time T then costs
    a factor of the order of T^2 in evidence, rather than one exponential in T.

    While ranks are independent and uniform, the capital is a martingale of mean 1 and, by Ville's
    inequality (1939), P(it ever reaches 1 / alpha) <= alpha: one may look after every score, and
    stop whenever one likes.
    """

    def __init__(self) -> None:
        self._reserve = 1.0
        self._accounts = {(shift, eps): 0.0 for shift in SHIFTS for eps in STRENGTHS}
        self._time = 0

    @property
    def capital(self) -> float:
        """The e-value: 1 at first, large where ranks are not uniform."""
        return self._reserve + sum(self._accounts.values())

    @property
    def shift(self) -> Shift:
        """The kind of change whose accounts hold the most."""
        return max(SHIFTS, key=lambda s: sum(self._accounts[s, eps] for eps in STRENGTHS))

    def bet(self, rank: float) -> None:
        """Deal out, then settle all bets on one more rank; O(1)."""
        self._time += 1
        stake = self._reserve / (self._time + 1) / len(self._accounts)
        self._reserve *= self._time / (self._time + 1)
        up, apart = rank - 0.5, abs(2 * rank - 1) - 0.5
        gains = dict(zip(SHIFTS, (up, -up, apart, -apart), strict=True))
        for (shift, eps), held in self._accounts.items():
            earned = (held + stake) * (1 + eps * gains[shift])
            self._accounts[shift, eps] = min(earned, MOST_CAPITAL)
