"""Histograms of scores that sites return instead of pairs, checked and put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from flwr.app import Message
from numpy.typing import NDArray

from fglguard.calibration import Calibrations, ScoreHistogram, calibrate_histograms
from fglguard.calibration.histogram import edges
from fglguard.errors import UpdateError
from fglguard.settings import CalibrationSettings
from server.reply_records import arrays_of
from server.scores import ScoreTable
from strategies.cohort import Member
from strategies.updates import to_numpy

CALIBRATION = ("safe", "unsafe")
TEST = (*CALIBRATION, "safe_attacked", "raw_safe", "raw_unsafe")
MOST_EPISODES = 10_000_000
"""More than a site may claim to have scored: what it says is multiplied out in memory."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class HistogramTable:
    """One row a site and domain; counts are [rows, bins] int64.

    Attributes:
        safe: Corroborated scores of safe episodes.
        unsafe: The same of unsafe ones.
        safe_attacked: Those of `safe` in which an attack is known to be present; zeros in a
            calibration split, which does not tell.
        raw_safe: Raw scores of safe episodes; zeros in a calibration split.
        raw_unsafe: The same of unsafe ones.
        domain: Name of the domain.
        site: Name of the site.
    """

    safe: Counts
    unsafe: Counts
    safe_attacked: Counts
    raw_safe: Counts
    raw_unsafe: Counts
    domain: NDArray[np.str_]
    site: NDArray[np.str_]

    def of_site(self, site: str) -> "HistogramTable":
        """The rows of one site."""
        keep = self.site == site
        return HistogramTable(*(getattr(self, column.name)[keep] for column in fields(self)))

    def calibrate(self, settings: CalibrationSettings) -> Calibrations:
        """Thresholds at the bins' edges."""
        parts = {
            str(name): ScoreHistogram(
                self.safe[self.domain == name].sum(axis=0),
                self.unsafe[self.domain == name].sum(axis=0),
            )
            for name in np.unique(self.domain)
        }
        return calibrate_histograms(parts or {"": _empty(self.safe.shape[1])}, settings)

    def at_edges(self) -> ScoreTable:
        """The episodes as pairs, every score moved to the lower edge of its bin.

        A threshold at an edge blocks the same episodes, and an AUROC is right to within half of
        the pairs that share a bin. Which raw score goes with which corroborated one is not known
        and no figure asks. All are in one group, so that no figure has an interval.
        """
        parts = [self._row(row) for row in range(len(self.site))]
        if not parts:
            empty = np.zeros(0)
            whole = empty.astype(np.int64)
            return ScoreTable(
                empty, empty, whole, whole, whole, empty.astype(str), empty.astype(str)
            )
        return ScoreTable(
            *(
                np.concatenate([getattr(part, column.name) for part in parts])
                for column in fields(ScoreTable)
            )
        )

    def _row(self, row: int) -> ScoreTable:
        attacked, unsafe = self.safe_attacked[row], self.unsafe[row]
        clean = self.safe[row] - attacked
        raw = [_scores(self.raw_safe[row]), _scores(self.raw_unsafe[row])]
        raised = [_scores(clean), _scores(attacked), _scores(unsafe)]
        sizes = [len(scores) for scores in raised]
        size = sum(sizes)
        return ScoreTable(
            raw=np.concatenate(raw),
            corroborated=np.concatenate(raised),
            label=np.repeat([0, 0, 1], sizes),
            group=np.zeros(size, np.int64),
            clean=np.repeat([1, 0, -1], sizes),
            domain=np.full(size, self.domain[row]),
            site=np.full(size, self.site[row]),
        )


def read_histogram(
    reply: Message, member: Member, *, bins: int, test: bool, trust_domains: bool
) -> HistogramTable:
    """Read and check an evaluate reply that holds counts.

    Args:
        reply: What the client sent back.
        member: Who it is.
        bins: How many bins were asked for.
        test: Whether the counts of test figures are expected too.
        trust_domains: Take the episodes' own domains; else all are of the roster's.

    Raises:
        UpdateError: The client reported an error, or its counts are not what was asked for.
    """
    record = arrays_of(reply, "histogram")
    expected = TEST if test else CALIBRATION
    if set(record) != set(expected):
        raise UpdateError(f"histogram: expected the counts {expected}, got {sorted(record)}")
    names = [str(name) for name in reply.content.config_records["site"]["domains"]]
    counts = {
        name: _counts(to_numpy(array, f"histogram.{name}"), name, (len(names), bins))
        for name, array in record.items()
    }
    _check_together(counts)
    if not trust_domains:
        counts = {name: part.sum(axis=0, keepdims=True) for name, part in counts.items()}
        names = [member.domain]
    nothing = np.zeros((len(names), bins), np.int64)
    return HistogramTable(
        **{name: counts.get(name, nothing) for name in TEST},
        domain=np.array(names, dtype=str),
        site=np.full(len(names), member.site),
    )


def join(tables: Sequence[HistogramTable]) -> HistogramTable:
    """Put the sites' tables together, in the order given."""
    return HistogramTable(
        *(
            np.concatenate([getattr(table, column.name) for table in tables])
            for column in fields(HistogramTable)
        )
    )


def _counts(array: NDArray[np.generic], name: str, shape: tuple[int, int]) -> Counts:
    if array.dtype.kind not in "iu":
        raise UpdateError(f"histogram.{name}: expected whole numbers, got {array.dtype}")
    if array.shape != shape:
        raise UpdateError(
            f"histogram.{name}: expected {shape[0]} domains of {shape[1]} bins, got shape "
            f"{array.shape}"
        )
    if np.any((array < 0) | (array > MOST_EPISODES)) or array.sum() > MOST_EPISODES:
        raise UpdateError(f"histogram.{name}: expected counts of 0 to {MOST_EPISODES} in all")
    return array.astype(np.int64)


def _check_together(counts: Mapping[str, Counts]) -> None:
    """What counts one episode twice must count it alike."""
    if "raw_safe" not in counts:
        return
    for name in CALIBRATION:
        raw, raised = counts[f"raw_{name}"], counts[name]
        if np.any(raw.sum(axis=1) != raised.sum(axis=1)):
            raise UpdateError(
                f"histogram.raw_{name}: expected as many episodes a domain as in {name}"
            )
    if np.any(counts["safe_attacked"] > counts["safe"]):
        raise UpdateError("histogram.safe_attacked: expected no more than in safe")


def _scores(counts: Counts) -> NDArray[np.float64]:
    return np.repeat(edges(len(counts)), counts)


def _empty(bins: int) -> ScoreHistogram:
    return ScoreHistogram(np.zeros(bins, np.int64), np.zeros(bins, np.int64))
