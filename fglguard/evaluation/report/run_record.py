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

    def threshold(self, domain: str) -> float | None:
        """The threshold of a domain; None where nothing is blocked, or each client has its own."""
        value = self.results["calibration"]["threshold"]
        return None if value is None else float(value)

    @property
    def own_thresholds(self) -> bool:
        """Whether each client has a threshold of its own, so that none holds for a domain."""
        return "thresholds" in self.results["calibration"]


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
