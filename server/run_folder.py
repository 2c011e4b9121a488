"""A run's folder: resolved configuration, metrics, checkpoints, bundle, results."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch

from fglguard.detector import Detector
from fglguard.errors import FederationError
from fglguard.files import write_atomically
from fglguard.settings import RunSettings, values_of
from strategies.updates import Failure, Update


def run_folder_path(settings: RunSettings) -> Path:
    """Where the settings say the run goes; a folder named after the time where they do not."""
    return Path(settings.output or time.strftime("runs/%Y-%m-%d_%H-%M-%S"))


class RunFolder:
    """Where a run writes, and the observer that its strategy tells of each client.

    `config.json` holds the resolved settings, `metrics.jsonl` a line a round and client,
    `checkpoints/` the global model after each round, `guard/` the bundle, `results.json` the
    figures, `report.html` the same for a person, `status.json` how the run stands: running,
    completed or failed, and why.

    Args:
        path: The folder; must be new, or hold no run yet.

    Raises:
        FederationError: Another run's files are there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if (path / "status.json").exists():
            raise FederationError(
                f"output: {path} already holds a run; name another folder (output=...) or remove it"
            )
        path.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()

    def begin(self, settings: RunSettings) -> None:
        """Write down what is about to run."""
        self._write_json("config.json", values_of(settings))
        self.set_status("running")

    def set_status(self, state: str, error: str | None = None) -> None:
        """Say how the run stands."""
        record: dict[str, Any] = {"state": state, "pid": os.getpid()}
        if error is not None:
            record["error"] = error
        self._write_json("status.json", record)

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """A client's update was used."""
        self._log(
            "train",
            server_round,
            site=update.member.site,
            domain=update.member.domain,
            weight=weight,
            **update.metrics,
        )

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A client's reply was left out."""
        self._log(
            "failure",
            server_round,
            during=phase,
            site=failure.member.site,
            domain=failure.member.domain,
            reason=failure.reason,
        )

    def surplus(self, server_round: int, update: Update) -> None:
        """A client's update came after enough others."""
        self._log(
            "surplus",
            server_round,
            site=update.member.site,
            domain=update.member.domain,
            **update.metrics,
        )

    def retried(self, server_round: int, attempt: int, reason: str) -> None:
        """An attempt at a round, counted from 1, was given up and another follows."""
        self._log("retry", server_round, attempt=attempt, reason=reason)

    def round_done(self, server_round: int, rounds: int, metrics: Mapping[str, Any]) -> None:
        """A whole round is over."""
        self._log("round", server_round, rounds=rounds, **metrics)

    def checkpoint(self, server_round: int, detector: Detector) -> None:
        """Keep the global model after a round, as named tensors."""
        tensors = {name: p.detach().contiguous() for name, p in detector.named_parameters()}
        path = self.path / "checkpoints" / f"round-{server_round:04d}.safetensors"
        with write_atomically(path) as file:
            file.write(safetensors.torch.save(tensors, {"round": str(server_round)}))

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Keep the run's figures."""
        self._write_json("results.json", results)

    def write_report(self, page: str) -> None:
        """Keep the run's report, a page for a person."""
        with write_atomically(self.path / "report.html") as file:
            file.write(page.encode())

    def _log(self, kind: str, server_round: int, **values: Any) -> None:
        record = {"kind": kind, "round": server_round}
        record |= {"seconds": round(time.monotonic() - self._started, 3), **values}
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _write_json(self, name: str, record: Mapping[str, Any]) -> None:
        with write_atomically(self.path / name) as file:
            file.write(json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")
