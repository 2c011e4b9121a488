"""Live scores against a guard's reference, one at a time."""

from __future__ import annotations

from bisect import bisect_right
from threading import Lock
from typing import Literal, get_args

from fglguard.calibration import ReferenceHistogram
from fglguard.calibration.histogram import edges
from fglguard.drift.betting import BettingTest
from fglguard.drift.psi import expected_without_drift, population_stability_index
from fglguard.drift.ranks import ConformalRanks
from fglguard.drift.report import DriftReport
from fglguard.drift.window import Window
from fglguard.errors import DriftError, SettingsError, shown

Against = Literal["benign", "all"]
NO_REFERENCE = (
    "the guard's bundle has no reference histogram; `fglguard recalibrate` writes a bundle with one"
)


class DriftMonitor:
    """Compares live corroborated scores with those that a threshold was chosen on.

    `observe` takes time and memory that do not grow with the number of scores, and any number of
    threads may call both methods. A monitor belongs to one calibration: a recalibrated guard gets
    a new one.

    The test's guarantee: while live scores are exchangeable with the reference's, an alert ever
    rises with probability at most alpha, however often one looks. Episodes of one task resemble
    each other, so a reference of few tasks is not exchangeable with live scores of others. The PSI
    is a description; no alert rests on it.

    Args:
        reference: Of the guard's calibration, `bundle.reference_for(domain)`; None where it has
            none, and nothing is tested then.
        alpha: How likely a false alert may be, in (0, 1).
        window: How many of the latest scores the PSI is of.
        minimum: The fewest scores, live and reference, for a PSI.
        against: Reference episodes to compare with: benign ones, as most live ones are, or all. In
            calibration data unsafe episodes are far more frequent than in most live traffic.
        seed: Of the random numbers that break ties.

    Raises:
        SettingsError: One of these is out of range.
    """

    def __init__(
        self,
        reference: ReferenceHistogram | None,
        *,
        alpha: float = 0.01,
        window: int = 1000,
        minimum: int = 30,
        against: Against = "benign",
        seed: int = 0,
    ) -> None:
        if not 0 < alpha < 1:
            raise SettingsError(f"alpha: expected a share in (0, 1), got {shown(alpha)}")
        if not 1 <= minimum <= window:
            raise SettingsError(
                f"minimum: expected 1 to the window's {shown(window)} scores, got {shown(minimum)}"
            )
        if against not in get_args(Against):
            raise SettingsError(f"against: expected benign or all, got {shown(against)}")
        counts: tuple[int, ...] = (0, 0)
        if reference is not None:
            counts = reference.benign if against == "benign" else reference.every
        self.alpha = alpha
        self.against = against
        self._minimum = minimum
        self._reference = counts
        self._edges = edges(len(counts)).tolist()
        self._window = Window(len(counts), window)
        self._ranks = ConformalRanks(counts, seed)
        self._test = BettingTest()
        self._scores = 0
        self._alerted_at: int | None = None
        self._shift = ""
        self._lock = Lock()

    def observe(self, score: float) -> bool:
        """Take one live episode's corroborated score, as its final answer was checked.

        One score an episode: calibration has one an episode, at its end.

        Returns:
            Whether this very score raised the alert: true at most once.

        Raises:
            DriftError: It is NaN or outside [0, 1]; the score is not counted.
        """
        value = float(score)
        if not 0 <= value <= 1:
            raise DriftError(f"expected a score within [0, 1], got {value!r}")
        code = bisect_right(self._edges, value) - 1
        with self._lock:
            self._scores += 1
            self._window.add(code)
            if not sum(self._reference):
                return False
            self._test.bet(self._ranks.rank(code))
            if self._alerted_at is not None or self._test.capital < 1 / self.alpha:
                return False
            self._alerted_at, self._shift = self._scores, self._test.shift
            return True

    def report(self) -> DriftReport:
        """How live scores compare now."""
        with self._lock:
            live, scores, e_value = self._window.counts, self._scores, self._test.capital
            alerted_at, shift = self._alerted_at, self._shift
        reference = sum(self._reference)
        undefined = self._undefined(sum(live), reference)
        psi = None if undefined else population_stability_index(live, self._reference)
        usual = None if undefined else expected_without_drift(live, self._reference)
        told = [self._tested(scores, e_value, alerted_at, shift)] if reference and scores else []
        if undefined:
            told.append(f"PSI is undefined: {undefined}")
        else:
            told.append(
                f"PSI of the last {sum(live)} is {psi:.3g}; without drift it would be {usual:.3g} "
                f"on average"
            )
        return DriftReport(
            alert=alerted_at is not None,
            e_value=e_value if reference and scores else None,
            psi=psi,
            psi_without_drift=usual,
            scores=scores,
            window=sum(live),
            reference=reference,
            alerted_at=alerted_at,
            reason="; ".join(told),
        )

    def _undefined(self, live: int, reference: int) -> str | None:
        """Why there is no PSI; None where there is one."""
        if not reference:
            return NO_REFERENCE
        if reference < self._minimum:
            return f"{reference} reference scores, expected at least {self._minimum}"
        if live < self._minimum:
            return f"{live} live scores, expected at least {self._minimum}"
        return None

    def _tested(self, scores: int, e_value: float, alerted_at: int | None, shift: str) -> str:
        whose = "benign calibration scores" if self.against == "benign" else "calibration scores"
        limit = 1 / self.alpha
        if alerted_at is None:
            return (
                f"no drift shown in {scores} live scores: evidence {e_value:.3g}, an alert needs "
                f"{limit:.3g}"
            )
        return (
            f"live scores drifted: they lie {shift} than the {whose}; evidence reached {limit:.3g} "
            f"at score {alerted_at} of {scores}"
        )
