"""The coarse histogram of calibration scores that live scores are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fglguard.calibration.calibration import Calibration
from fglguard.calibration.histogram import ScoreHistogram
from fglguard.errors import CalibrationError, shown

REFERENCE_BINS = 20
"""Equal bins of [0, 1]: fixed and public, so that no edge tells of a score."""


@dataclass(frozen=True, slots=True)
class ReferenceHistogram:
    """How many calibration episodes of each class scored within each of equal bins of [0, 1].

    The counts are of all sites together; none of them is told apart. Bin i of n holds
    i / n <= s < (i + 1) / n, the last one s = 1 too.

    Attributes:
        benign: [bins].
        unsafe: [bins].

    Raises:
        CalibrationError: The two do not have one length of at least 2, or a count is negative.
    """

    benign: tuple[int, ...]
    unsafe: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.benign) != len(self.unsafe) or len(self.benign) < 2:
            raise CalibrationError(
                f"expected as many benign as unsafe bins, at least 2, got {len(self.benign)} and "
                f"{len(self.unsafe)}"
            )
        if min(self.benign + self.unsafe) < 0:
            raise CalibrationError("expected counts of at least 0, got a negative one")

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike) -> ReferenceHistogram:
        """Count corroborated scores [n] by their labels [n], 1 unsafe and 0 benign.

        Raises:
            CalibrationError: A score is outside [0, 1] or NaN, or the lengths differ.
        """
        return cls._of(ScoreHistogram.of(scores, labels, REFERENCE_BINS))

    @classmethod
    def merged(cls, fine: ScoreHistogram) -> ReferenceHistogram | None:
        """Merge a finer histogram's bins, exactly.

        Whole bins can be merged alone, so their number becomes the largest divisor of the fine
        one that is at most `REFERENCE_BINS`.

        Returns:
            None where there is no such divisor above 1: no edge in common but 0 and 1.
        """
        bins = len(fine.benign)
        coarse = max(n for n in range(1, REFERENCE_BINS + 1) if bins % n == 0)
        if coarse == 1:
            return None
        benign, unsafe = (
            part.reshape(coarse, -1).sum(axis=1) for part in (fine.benign, fine.unsafe)
        )
        return cls._of(ScoreHistogram(benign, unsafe))

    @classmethod
    def _of(cls, histogram: ScoreHistogram) -> ReferenceHistogram:
        return cls(tuple(histogram.benign.tolist()), tuple(histogram.unsafe.tolist()))

    @property
    def bins(self) -> int:
        """How many bins."""
        return len(self.benign)

    @property
    def every(self) -> tuple[int, ...]:
        """Counts of both classes together, [bins]."""
        return tuple(np.add(self.benign, self.unsafe).tolist())

    def check_counts(self, calibration: Calibration, where: str) -> None:
        """Refuse counts of other episodes than a calibration's.

        Raises:
            CalibrationError: The totals differ from the calibration's.
        """
        found = sum(self.benign), sum(self.unsafe)
        if found != (calibration.benign, calibration.unsafe):
            raise CalibrationError(
                f"{where}: expected the {calibration.benign} benign and {calibration.unsafe} "
                f"unsafe episodes of its calibration, got {found[0]} and {found[1]}"
            )

    def to_record(self) -> dict[str, Any]:
        """As `guard.json` holds it."""
        return {"benign": list(self.benign), "unsafe": list(self.unsafe)}

    @classmethod
    def from_record(cls, record: Any, where: str = "reference") -> ReferenceHistogram:
        """Read what `to_record` wrote.

        Raises:
            CalibrationError: It is something else; the text names `where`.
        """
        if not isinstance(record, dict) or set(record) != {"benign", "unsafe"}:
            raise CalibrationError(
                f"{where}: expected an object of benign and unsafe, got {_told(record)}"
            )
        for name, counts in record.items():
            if not isinstance(counts, list) or any(type(count) is not int for count in counts):
                raise CalibrationError(f"{where}.{name}: expected a list of whole numbers")
        try:
            return cls(tuple(record["benign"]), tuple(record["unsafe"]))
        except CalibrationError as error:
            raise CalibrationError(f"{where}: {error}") from None


def _told(record: Any) -> str:
    if isinstance(record, Mapping):
        return f"the keys {', '.join(shown(key) for key in sorted(record)) or 'none'}"
    return shown(record)
