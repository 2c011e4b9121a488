"""A finished run, as its folder tells it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fglguard.errors import ReportError
from fglguard.evaluation.report.curves import CURVES_FILE
from fglguard.evaluation.report.history import Learning, loss_by_domain, read_history


@dataclass(frozen=True)
class RunRecord:
    """What a report is made of; there is no text of an episode in it.

    Attributes:
        name: The run folder's name.
        settings: The flat settings.
        results: The run's `results.json`.
        curves: ROC curves and histograms by domain (`score_curves`).
        learning: Training loss by domain.
    """

    name: str
    settings: Mapping[str, Any]
    results: Mapping[str, Any]
    curves: Mapping[str, Any]
    learning: Mapping[str, Learning]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a run folder.

        Raises:
            ReportError: A file is missing or damaged; the text names it.
        """
        return cls(
            name=folder.resolve().name,
            settings=read_settings(folder),
            results=_read(folder / "results.json"),
            curves=_read(folder / CURVES_FILE),
            learning=loss_by_domain(read_history(folder / "metrics.jsonl")),
        )

    @property
    def domains(self) -> list[str]:
        """Names of the test split's domains."""
        return list(self.results["test"]["domains"])

    @property
    def calibration(self) -> Mapping[str, Any]:
        """How the threshold was chosen on all domains together."""
        found: Mapping[str, Any] = self.results["calibration"]
        return found

    def calibration_of(self, domain: str) -> Mapping[str, Any]:
        """A domain's own calibration; the pooled one where it has none."""
        own = self.calibration["domains"].get(domain)
        return self.calibration if own is None or "fallback" in own else own

    def threshold(self, domain: str) -> float | None:
        """The threshold that decides in a domain.

        None where nothing is blocked, each client has its own, or there is no guard.
        """
        value = self.calibration_of(domain)["threshold"]
        return None if value is None else float(value)

    @property
    def own_thresholds(self) -> bool:
        """Whether each client has a threshold of its own, so that none holds for a domain."""
        return "guards" in self.calibration

    @property
    def guarded(self) -> bool:
        """Whether there is a guard at all: none without a safe episode to calibrate on."""
        if self.own_thresholds:
            return bool(self.calibration["guards"])
        return self.calibration["objective"] is not None


def read_settings(folder: Path) -> dict[str, Any]:
    """The flat settings of the run that a folder holds.

    Raises:
        ReportError: There is none, or it is damaged.
    """
    return _read(folder / "config.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(
            f"{path}: can't be read ({error.strerror}); a report needs the folder of a completed "
            f"run"
        ) from error
    except ValueError as error:
        raise ReportError(f"{path}: expected JSON, got damage: {error}") from error
    if not isinstance(record, dict):
        raise ReportError(f"{path}: expected a JSON object, got {type(record).__name__}")
    return record
