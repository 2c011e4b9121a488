"""What the documents tell a newcomer to type can be typed, and leaves no private text about."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from fglguard.episode import read_episodes

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")),
)
INSTALLED = ("python", "python3", "pip", "fglguard", "tensorboard", "mlflow")
"""Programs that stand in `.venv/bin` after `make run`; a newcomer's shell has them nowhere else."""


def commands(document):
    """Lines of blocks of code, indented or fenced, and code within a line that has arguments."""
    fenced = False
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line.strip()
        else:
            yield from re.findall(r"`([^`]+ [^`]+)`", line)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_programs_are_those_of_the_environment_that_make_makes(document):
    bare = [line for line in commands(document) if line.split(" ")[0] in INSTALLED]
    assert not bare


def test_the_episode_to_paste_is_the_one_of_the_file_and_is_valid():
    text = (ROOT / "docs" / "silos.md").read_text(encoding="utf-8")
    example = ROOT / "docs" / "episode.jsonl"
    assert f"\n{example.read_text(encoding='utf-8')}" in text
    assert [episode.id for episode in read_episodes(example, strict=True)] == ["e1"]
    start = text.index('    {"schema"')
    broken_up = text[start : text.index("\n\n", start)]
    assert json.loads(broken_up) == json.loads(example.read_text(encoding="utf-8"))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without its history")
@pytest.mark.parametrize(
    "path",
    [
        "silos/rjudge/data-000001/episodes.jsonl",
        "report-with-text.html",
        "page-with-text.html",
        "verdicts.jsonl",
        "verdicts-banking.jsonl",
        ".silos.lock",
        "runs/one/guard/guard.json",
        ".fglguard/silos/replay/manifest.json",
        "tables/runs.csv",
    ],
)
def test_what_the_commands_leave_is_never_added(path):
    done = subprocess.run(
        ["git", "check-ignore", "--quiet", path], cwd=ROOT, timeout=60, check=False
    )
    assert done.returncode == 0
