"""A run's folder: resolved configuration, metrics, checkpoints, bundle, results."""

import fcntl
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fglguard.errors import FederationError
from fglguard.evaluation.report.curves import CURVES_FILE
from fglguard.files import write_atomically
from fglguard.settings import RunSettings, Scalar, values_of
from strategies.cohort import Member
from strategies.updates import Failure, Update

ENROLMENT = "enrolment.json"
"""The file of a run folder that says which real sites take part."""

DELIVERY = "delivery.json"
"""The file of a run folder that says which real sites have its guard."""

LOCK = ".lock"
"""The file of a run folder that a running run holds locked."""

FREE_TO_CHANGE = (
    "output",
    "resume",
    "federation.backend",
    "federation.workers",
    "federation.ray.address",
    "federation.checkpoints",
    "federation.connect_timeout",
    "federation.timeout",
    "delivery.signing_key",
    "tracking.tensorboard",
    "tracking.mlflow",
)
"""Settings that do not change a run's outcome, so that a resumed run may have others."""


def run_folder_path(settings: RunSettings) -> Path:
    """Where the settings say the run goes; a folder named after the time where they do not."""
    return Path(
        settings.resume or settings.output or time.strftime("runs/%Y-%m-%d_%H-%M-%S")
    ).resolve()


def read_configuration(path: Path) -> dict[str, Scalar]:
    """The flat settings of the run that a folder holds.

    Raises:
        FederationError: There is none, or it can't be read.
    """
    try:
        record = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        found = "there is no such folder"
        if path.exists():
            found = "it holds no config.json" if path.is_dir() else "it is a file"
        raise FederationError(
            f"resume: expected a run's folder, such as runs/NAME, got {path}: {found}"
        ) from None
    except OSError as error:
        raise FederationError(
            f"resume: {path / 'config.json'}: can't be read: {error.strerror}"
        ) from error
    except ValueError as error:
        raise FederationError(
            f"resume: {path / 'config.json'}: expected JSON, got damage: {error}"
        ) from error
    return dict(record)


def require_same_configuration(path: Path, settings: RunSettings) -> None:
    """Stop a resumed run that would not be the run that was interrupted.

    Raises:
        FederationError: Settings differ that change the outcome; each is shown with both values.
    """
    before, now = read_configuration(path), values_of(settings)
    differences = [
        f"- {key}: {before.get(key, '(not there)')!r} in the folder, "
        f"{now.get(key, '(not there)')!r} now"
        for key in sorted({*before, *now})
        if key not in FREE_TO_CHANGE and before.get(key) != now.get(key)
    ]
    if differences:
        raise FederationError(
            f"resume: {path} holds a run of another configuration:\n" + "\n".join(differences)
        )


class RunFolder:
    """Where a run writes, and the observer that its strategy tells of each client.

    `config.json` holds the resolved settings, `metrics.jsonl` a line a round and client,
    `checkpoints/` the newest global models (`server.checkpoints`), `clients/` what simulated
    clients keep between rounds, `enrolment.json` which real sites take part and why others don't,
    `guard/` the bundle, `delivery.json` which real sites have got it, `results.json` the figures,
    `curves.json` ROC curves and histograms, `report.html` all of it for a person
    (`server.report`), `status.json` how the run stands: running, completed or failed, and why.

    The folder is locked from `begin` to `close`, or to the end of the process.

    Args:
        path: The folder; must be new, or hold no run yet, unless a run is resumed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._started = time.monotonic()

    def begin(self, settings: RunSettings) -> None:
        """Lock the folder and write down what is about to run.

        Raises:
            FederationError: Another run is writing to the folder or has left its files there; or,
                to resume, the folder holds no run, one of another configuration, or a whole one.
        """
        if settings.resume:
            require_same_configuration(self.path, settings)
            self.lock()
            if self.state() == "completed":
                raise FederationError(f"resume: the run at {self.path} is already completed")
        else:
            self.path.mkdir(parents=True, exist_ok=True)
            self.lock()
            if self.state() is not None:
                raise FederationError(
                    f"output: {self.path} already holds a run; name another folder (output=...), "
                    f"go on with it (resume={self.path}) or remove it"
                )
            self._write_json("config.json", values_of(settings))
        self.set_status("running")

    def close(self) -> None:
        """Let the folder go."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def state(self) -> str | None:
        """How the run stands: running, completed or failed; None where there is none."""
        path = self.path / "status.json"
        if not path.exists():
            return None
        try:
            return str(json.loads(path.read_text(encoding="utf-8"))["state"])
        except (ValueError, KeyError, TypeError) as error:
            raise FederationError(
                f"{path}: expected a run's status, got damage: {error}"
            ) from error

    def set_status(
        self, state: str, error: str | None = None, *, report_error: str | None = None
    ) -> None:
        """Say how the run stands, and why it ended or has no report."""
        record: dict[str, Any] = {"state": state, "pid": os.getpid()}
        if error is not None:
            record["error"] = error
        if report_error is not None:
            record["report_error"] = report_error
        self._write_json("status.json", record)

    def forget_after(self, server_round: int) -> None:
        """Drop the lines of rounds after this one, and a line that was cut off.

        A run that was killed may have logged clients of a round that is now done again.
        """
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return
        kept: list[bytes] = []
        seconds = 0.0
        for line in path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                damaged = "round" not in record or "seconds" not in record
            except ValueError:
                damaged = True
            if damaged:
                raise FederationError(
                    f"{path}:{len(kept) + 1}: expected a line of the run's log, got damage"
                )
            if record["round"] <= server_round:
                kept.append(line)
                seconds = max(seconds, float(record["seconds"]))
        with write_atomically(path) as file:
            file.writelines(kept)
        self._started = time.monotonic() - seconds

    def last_used(self) -> dict[str, int]:
        """The last round in which each site's update was used, as the log has it."""
        used: dict[str, int] = {}
        with (self.path / "metrics.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record["kind"] == "train":
                    used[record["site"]] = record["round"]
        return used

    def trained(self, server_round: int, update: Update, weight: float) -> None:
        """A client's update was used."""
        self._log(
            "train",
            server_round,
            {**update.metrics, **_who(update.member), "weight": weight},
        )

    def failed(self, phase: str, server_round: int, failure: Failure) -> None:
        """A client's reply was left out."""
        self._log(
            "failure",
            server_round,
            {"during": phase, **_who(failure.member), "reason": failure.reason},
        )

    def surplus(self, server_round: int, update: Update) -> None:
        """A client's update came after enough others."""
        self._log(
            "surplus",
            server_round,
            {**update.metrics, **_who(update.member)},
        )

    def retried(self, server_round: int, attempt: int, reason: str) -> None:
        """An attempt at a round, counted from 1, was given up and another follows."""
        self._log("retry", server_round, {"attempt": attempt, "reason": reason})

    def round_done(self, server_round: int, rounds: int, metrics: Mapping[str, Any]) -> None:
        """A whole round is over."""
        self._log("round", server_round, {**metrics, "rounds": rounds})

    def write_enrolment(self, enrolment: Mapping[str, Any]) -> None:
        """Say which sites take part, and which are left out and why."""
        self._write_json(ENROLMENT, enrolment)

    def write_delivery(self, deliveries: Sequence[Mapping[str, Any]]) -> None:
        """Say which sites have the guard, and why others don't."""
        self._write_json(DELIVERY, deliveries)

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Keep the run's figures."""
        self._write_json("results.json", results)

    def write_curves(self, curves: Mapping[str, Any]) -> None:
        """Keep what the report draws of the test scores."""
        self._write_json(CURVES_FILE, curves)

    def lock(self) -> None:
        """Take the folder for this process, until `close`.

        Raises:
            FederationError: Another process has it.
        """
        descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FederationError(
                f"output: another run is writing to {self.path}; wait for it or name another folder"
            ) from None
        self._lock = descriptor

    def _log(self, kind: str, server_round: int, values: Mapping[str, Any]) -> None:
        ours = {"kind": kind, "round": server_round}
        ours |= {"seconds": round(time.monotonic() - self._started, 3)}
        # Ours again, last: a client names its metrics, and may not pass for another's line.
        record = {**ours, **values, **ours}
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _write_json(self, name: str, record: Mapping[str, Any] | Sequence[Any]) -> None:
        with write_atomically(self.path / name) as file:
            file.write(json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")


def _who(member: Member) -> dict[str, str]:
    return {"site": member.site, "domain": member.domain}
