"""The guard of the examples: one that is given, or a small one that is trained once and kept."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from fglguard import Guard, Policy, Verdict

ROOT = Path(__file__).resolve().parents[2]
TRAINED = ROOT / ".fglguard" / "examples" / "run"
SETTINGS = ("detector=small", "corpus.encoder=hashed-words")
"""Hashed words, no language model's embeddings: a minute on two cores, and it loads anywhere."""
SECONDS = 1800.0


def example_guard(description: str) -> Guard:
    """The guard that the command line names (`--guard FOLDER`), else the trained one.

    Tool calls are checked, and both thresholds and weights are as training left them.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--guard", type=Path, metavar="FOLDER", help="a bundle of your own")
    folder = parser.parse_args().guard or _trained()
    guard = Guard.load(folder, policy=Policy(calls=True))
    print(f"guard {guard.bundle.model_id[:12]}, threshold {guard.threshold:.3f}")
    return guard


def print_verdict(verdict: Verdict) -> None:
    """One line a verdict."""
    score = "-" if verdict.corroborated_score is None else f"{verdict.corroborated_score:.3f}"
    print(f"  {verdict.agent} {verdict.kind}: {verdict.decision} ({verdict.status}, score {score})")
    if verdict.blocked:
        print(f"    {verdict.reason}")


def _trained() -> Path:
    folder = TRAINED / "guard"
    if not folder.exists():
        print("training a small guard on replayed AgentDojo episodes (once)", flush=True)
        command = [sys.executable, "scripts/simulate.py", *SETTINGS, f"output={TRAINED}"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, timeout=SECONDS
        )
        if done.returncode:
            sys.exit(
                "the guard could not be trained here (that needs `make run`'s packages); train it "
                "there with another example, or give one with --guard FOLDER"
            )
    return folder
