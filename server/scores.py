"""Scores that sites return for calibration and evaluation, checked and pooled."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from flwr.app import Message
from numpy.typing import NDArray

from fglguard.calibration import Calibrations, calibrate_pairs
from fglguard.errors import UpdateError
from fglguard.settings import CalibrationSettings
from server.reply_records import arrays_of
from strategies.cohort import Member
from strategies.updates import to_numpy

SCORES = ("raw", "corroborated")
COLUMNS = ("raw", "corroborated", "label", "group", "clean", "domain")


@dataclass(frozen=True)
class ScoreTable:
    """One row an episode.

    Attributes:
        raw: The final agent's own score.
        corroborated: Its corroborated score, which the threshold is compared with.
        label: 1 unsafe, 0 safe.
        group: Task group; numbers mean nothing beyond equality.
        clean: 1 where no attack is known to be present, 0 where one is, -1 unknown.
        domain: Name of the episode's domain.
        site: Name of the site that holds it.
    """

    raw: NDArray[np.float64]
    corroborated: NDArray[np.float64]
    label: NDArray[np.int64]
    group: NDArray[np.int64]
    clean: NDArray[np.int64]
    domain: NDArray[np.str_]
    site: NDArray[np.str_]

    def of_domain(self, domain: str) -> "ScoreTable":
        """The rows of one domain."""
        return self._rows(self.domain == domain)

    def of_site(self, site: str) -> "ScoreTable":
        """The rows of one site."""
        return self._rows(self.site == site)

    def calibrate(self, settings: CalibrationSettings) -> Calibrations:
        """Thresholds from the corroborated scores."""
        return calibrate_pairs(self.corroborated, self.label, self.domain, self.group, settings)

    def _rows(self, keep: NDArray[np.bool_]) -> "ScoreTable":
        return ScoreTable(*(getattr(self, column.name)[keep] for column in fields(self)))


def read_scores(reply: Message, member: Member, *, trust_domains: bool) -> ScoreTable:
    """Read and check an evaluate reply.

    Args:
        reply: What the client sent back.
        member: Who it is.
        trust_domains: Take the episodes' own domains (a simulation that deals several domains to
            a client); else every row has the roster's domain.

    Raises:
        UpdateError: The client reported an error, or its scores are not what was asked for.
    """
    scores = arrays_of(reply, "scores")
    columns = {name: to_numpy(array, f"scores.{name[:60]}") for name, array in scores.items()}
    if set(columns) != set(COLUMNS):
        raise UpdateError(f"scores: expected the columns {COLUMNS}, got {sorted(columns)}")
    rows = len(columns["raw"])
    for name, column in columns.items():
        if column.shape != (rows,):
            raise UpdateError(f"scores.{name}: expected {rows} rows, got shape {column.shape}")
    for name, column in columns.items():
        wanted = "f" if name in SCORES else "iu"
        if column.dtype.kind not in wanted:
            kind = "numbers" if name in SCORES else "whole numbers"
            raise UpdateError(f"scores.{name}: expected {kind}, got {column.dtype}")
    for name in SCORES:
        column = columns[name]
        if not np.all((column >= 0) & (column <= 1)):
            raise UpdateError(f"scores.{name}: expected scores within [0, 1]")
    if not np.all(columns["corroborated"] >= columns["raw"]):
        raise UpdateError("scores.corroborated: expected no score below the raw one")
    if not np.isin(columns["label"], (0, 1)).all():
        raise UpdateError("scores.label: expected 0 or 1; unlabelled episodes can't calibrate")
    names = [str(name) for name in reply.content.config_records["site"]["domains"]]
    if not np.all((columns["domain"] >= 0) & (columns["domain"] < len(names))):
        raise UpdateError(f"scores.domain: expected codes of {len(names)} domains")
    own = np.array(names)[columns["domain"]] if rows else np.array([], dtype=str)
    domain = own if trust_domains else np.full(rows, member.domain)
    return ScoreTable(
        raw=columns["raw"].astype(np.float64),
        corroborated=columns["corroborated"].astype(np.float64),
        label=columns["label"].astype(np.int64),
        group=columns["group"].astype(np.int64),
        clean=columns["clean"].astype(np.int64),
        domain=domain.astype(str),
        site=np.full(rows, member.site),
    )


def pool(tables: Sequence[ScoreTable], *, shared_groups: bool) -> ScoreTable:
    """Put the sites' tables together, in the order given.

    Group numbers are kept as they are in a simulation, where clients deal out one corpus
    (`shared_groups`); otherwise each site's are told apart from every other's.
    """
    together = ScoreTable(
        *(
            np.concatenate([getattr(t, column.name) for t in tables])
            for column in fields(ScoreTable)
        )
    )
    if shared_groups:
        return together
    site = np.repeat(np.arange(len(tables)), [len(table.raw) for table in tables])
    distinct = np.unique(np.stack([site, together.group]), axis=1, return_inverse=True)[1]
    return replace(together, group=distinct.reshape(-1))
