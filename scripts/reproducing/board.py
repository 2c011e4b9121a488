"""Scores of every arm on every study, and the figures over them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fglguard.errors import FederationError
from fglguard.evaluation.bootstrap import Estimate
from fglguard.evaluation.comparison import Cell, mean_over_cells
from scripts.reproducing.scores import Scores


@dataclass(frozen=True)
class Trial:
    """What a set of test scores is of.

    Attributes:
        arm: What scored: a detector, a strategy, a floor.
        study: What was trained and tested on what, e.g. `task_disjoint`.
        part: Which of the study's parts, e.g. the suite that is left out; empty: it has one.
        seed: Of the sides and of the run.
        guard: Of the local arm, whose guard it is.
    """

    arm: str
    study: str
    part: str
    seed: int
    guard: str = ""

    @property
    def cell(self) -> str:
        """Which of its arm's cells it is, for people: `leave_suite_out, slack, seed 0`."""
        return ", ".join(x for x in (self.study, self.part, f"seed {self.seed}") if x)


@dataclass
class Board:
    """Test scores by trial.

    Attributes:
        scores: Test rows alone.
        held_out: Validation and test rows.
        failed: By trial, why its run failed.
        unfit: By trial, and by domain where each is fitted by itself, why a baseline could not be
            fitted.
        records: By trial, the `results.json` of its run.
        folders: By trial, its run's folder.
    """

    scores: dict[Trial, Scores] = field(default_factory=dict)
    held_out: dict[Trial, Scores] = field(default_factory=dict)
    failed: dict[Trial, str] = field(default_factory=dict)
    unfit: dict[tuple[Trial, str], str] = field(default_factory=dict)
    records: dict[Trial, Mapping[str, object]] = field(default_factory=dict)
    folders: dict[Trial, Path] = field(default_factory=dict)
    _known: dict[tuple[str | None, ...], Estimate] = field(default_factory=dict)

    def add(self, trial: Trial, scores: Scores) -> None:
        """Keep a trial's scores."""
        self._known.clear()
        self.held_out[trial] = scores
        self.scores[trial] = scores.where(scores.side == "test")

    def arms(self, study: str) -> list[str]:
        """The arms that have scores in a study, in the order in which they came."""
        return list(dict.fromkeys(t.arm for t in self.scores if t.study == study))

    def domains(self, study: str) -> list[str]:
        """The domains tested in a study."""
        found = {str(d) for t, s in self.scores.items() if t.study == study for d in s.domain}
        return sorted(found)

    def estimate(
        self,
        arm: str,
        study: str,
        metric: str = "auroc",
        *,
        other: str | None = None,
        domain: str | None = None,
        part: str | None = None,
        column: str = "raw",
    ) -> Estimate:
        """The mean over seeds, parts and domains of a metric, or of its paired difference.

        Args:
            arm: Whose figure.
            study: Where.
            metric: One of `fglguard.evaluation.comparison.METRICS`.
            other: The arm it is compared with, on the same episodes.
            domain: One domain's cells alone.
            part: One part's cells alone.
            column: `raw` or `corroborated` scores.
        """
        cells = list(self._cells(arm, study, other, domain, part, column))
        if not cells:
            reason = self.problem(arm) or (self.problem(other) if other else None)
            return Estimate(None, None, None, reason or "no such run")
        # Tables ask for the same figure several times, and a bootstrap takes a while.
        asked = (arm, study, metric, other, domain, part, column)
        if asked not in self._known:
            self._known[asked] = mean_over_cells(cells, metric)
        return self._known[asked]

    def problem(self, arm: str) -> str | None:
        """Why an arm, or a cell of it, has no scores; None where nothing is known to be wrong."""
        reasons = [why for trial, why in self.failed.items() if trial.arm == arm]
        reasons += [why for (trial, _), why in self.unfit.items() if trial.arm == arm]
        return reasons[0] if reasons else None

    def best(self, arms: Iterable[str], study: str) -> str | None:
        """The arm of the largest mean AUROC among those of the most cells; None without any.

        Of the most cells, so that an arm that could be fitted in few does not win by these.
        """
        values = {arm: self.estimate(arm, study).value for arm in arms}
        cells = {arm: len(list(self._cells(arm, study))) for arm in values}
        most = max(cells.values(), default=0)
        whole = {a: v for a, v in values.items() if v is not None and cells[a] == most}
        return max(whole, key=lambda arm: whole[arm]) if whole else None

    def _cells(
        self,
        arm: str,
        study: str,
        other: str | None = None,
        domain: str | None = None,
        part: str | None = None,
        column: str = "raw",
    ) -> Iterable[Cell]:
        for trial, scores in self.scores.items():
            if (trial.arm, trial.study) != (arm, study) or part not in (None, trial.part):
                continue
            against = None
            if other is not None:
                against = self.scores.get(replace(trial, arm=other, guard=""))
                if against is None:
                    continue
            for name in np.unique(scores.domain):
                absent = against is not None and name not in against.domain
                if domain in (None, str(name)) and not absent:
                    yield _cell(scores, against, str(name), column)


def _cell(scores: Scores, against: Scores | None, domain: str, column: str) -> Cell:
    inside = scores.domain == domain
    second = None
    if against is not None:
        chosen = against.domain == domain
        if not np.array_equal(scores.id[inside], against.id[chosen]):
            raise FederationError(
                f"{domain}: expected two arms' scores of the same episodes, got {inside.sum()} "
                f"and {chosen.sum()} or others"
            )
        second = getattr(against, column)[chosen]
    return Cell(
        domain, scores.label[inside], scores.group[inside], getattr(scores, column)[inside], second
    )
