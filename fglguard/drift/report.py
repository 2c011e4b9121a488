"""What a drift monitor says."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Live scores against the reference, at one moment.

    Attributes:
        alert: Whether the sequential test has rejected "nothing changed". It stays so: what comes
            later does not unsay it.
        e_value: Evidence against "nothing changed" at this moment; the alert rises where it
            reaches 1 / alpha. None without a reference or before the first score.
        psi: Population stability index of the window; None where it is undefined.
        psi_without_drift: What it is on average where nothing changed, of as many scores; None
            where it is undefined.
        scores: Live scores seen.
        window: Of these, how many the PSI is of: the latest.
        reference: Reference scores; 0 without a reference.
        alerted_at: How many scores had been seen when the alert rose; None without an alert.
        reason: All of it in words, and why what is None is undefined.
    """

    alert: bool
    e_value: float | None
    psi: float | None
    psi_without_drift: float | None
    scores: int
    window: int
    reference: int
    alerted_at: int | None
    reason: str

    @property
    def since(self) -> int | None:
        """Scores seen since the alert rose; None without an alert."""
        return None if self.alerted_at is None else self.scores - self.alerted_at

    def to_record(self) -> dict[str, Any]:
        """For strict JSON."""
        return {**asdict(self), "since": self.since}
