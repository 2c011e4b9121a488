"""The examples show what they say: with the guard they train, and nothing tuned."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
@pytest.mark.parametrize("name", ["langgraph_team", "langchain_agent"])
def test_the_planted_transfer_is_not_made_and_the_honest_one_is(name) -> None:
    pytest.importorskip(name.partition("_")[0], reason="pip install 'fglguard[agents]'")
    done = subprocess.run(
        [sys.executable, f"scripts/examples/{name}.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    planted, clean = done.stdout.split("planted bill\n")[1].split("clean bill\n")
    assert "transfers made: none" in planted
    assert "call: block (success" in planted
    assert "transfers made: 98.70 to GB29NWBK60161331926819" in clean
    assert "block" not in clean
