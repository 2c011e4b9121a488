import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def sweep_command(tmp_path, make_silo):
    """The words of `simulate.py -m` over a small silo of two domains, one round, no minilm."""
    silo = make_silo()
    return [
        sys.executable,
        str(ROOT / "scripts" / "simulate.py"),
        "-m",
        "corpus=silos",
        f"corpus.path={silo.path}",
        "corpus.encoder=hashed-words",
        "federation.clients=4",
        "privacy.minimum_graphs=1",
        "federation.rounds=1",
        f"output={tmp_path / 'sweep'}",
    ]


@pytest.fixture
def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def sweep(sweep_command, environment, tmp_path):
    """Run a whole sweep; returns what the command left."""

    def run(*overrides):
        return subprocess.run(
            [*sweep_command, *overrides],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run
