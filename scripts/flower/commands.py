"""The `flwr` command: submit a run, ask how it stands, stop it."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import FederationError
from fglguard.settings import RunSettings, Scalar, values_of
from scripts.flower.processes import BIN
from scripts.flower.staging import staged_app

COMMAND_SECONDS = 120.0


class FlowerError(FederationError):
    """Flower refused, did not answer, or never ended a run."""


@dataclass(frozen=True)
class Flower:
    """`flwr` with a home of its own, whose `config.toml` says which SuperLink it talks to.

    Attributes:
        home: A folder for this alone.
        environment: What `flwr` runs with.
    """

    home: Path
    environment: Mapping[str, str]

    def submit(self, settings: RunSettings, *options: str) -> int:
        """Hand the app and its settings to the SuperLink; returns the run's id.

        Raises:
            FlowerError: It was refused.
        """
        overrides = self.home / "run-config.toml"
        overrides.write_text(toml(values_of(settings)), encoding="utf-8")
        app = str(staged_app(self.home / "app"))
        answer = self._command("run", app, "--run-config", str(overrides), *options)
        if not answer.get("success") or "run-id" not in answer:
            raise FlowerError(f"flwr run was refused: {answer.get('error-message', answer)}")
        return int(answer["run-id"])

    def state(self, run_id: int) -> str:
        """How a run stands, such as `finished:completed`; empty if the SuperLink does not say."""
        answer = self._command("ls", "--run-id", str(run_id))
        runs = answer.get("runs") or [{}]
        return str(runs[0].get("status", ""))

    def stop(self, run_id: int) -> None:
        """Stop a run.

        Raises:
            FlowerError: It was refused.
        """
        answer = self._command("stop", str(run_id))
        if not answer.get("success"):
            raise FlowerError(f"flwr stop was refused: {answer.get('error-message', answer)}")

    def _command(self, *arguments: str) -> dict[str, Any]:
        empty = self.home / "empty"
        empty.mkdir(exist_ok=True)
        try:
            done = subprocess.run(
                [str(BIN / "flwr"), *arguments, "--format", "json"],
                cwd=empty,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise FlowerError(
                f"flwr {arguments[0]} did not answer within {COMMAND_SECONDS:g} s"
            ) from None
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            raise FlowerError(
                f"flwr {arguments[0]} did not answer as expected (exit code {done.returncode}):\n"
                f"{done.stdout}{done.stderr}"
            ) from None


def toml(values: Mapping[str, Scalar]) -> str:
    """Flat values as a TOML document: a JSON scalar is a TOML scalar."""
    return "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in values.items())
