import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed
from scripts.partition import show_partition

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_table_and_the_picture_show_every_client(make_silo, tmp_path, capsys):
    """Of 24 safe and 24 unsafe or so training episodes nobody holds what purity has no use for."""
    silo = make_silo()
    settings = RunSettings.from_flat(
        composed("detector=paper", "privacy=none")
        | {
            "corpus.name": "silos",
            "corpus.path": str(silo.path),
            "partition.kind": "label_skew",
            "partition.within_domains": False,
            "federation.clients": 4,
            "output": str(tmp_path / "shares.svg"),
        }
    )
    show_partition(settings)
    text = capsys.readouterr().out
    assert "silos: label_skew, purity 0.8, 4 clients" in text
    for client in range(4):
        assert f"client-{client}" in text
        assert f"client-{client}" in (tmp_path / "shares.svg").read_text(encoding="utf-8")
    show_partition(replace(settings, output="", partition=replace(settings.partition, kind="iid")))
    assert "left out" not in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("partition.kind=shards", "expected one of domain, iid, label_skew, dirichlet, quantity"),
        ("partition.purity=0.4", "partition.purity: expected at least 0.5 and at most 1, got 0.4"),
        ("federation.clients=100", "federation.clients: "),
    ],
)
def test_bad_input_is_one_line(make_silo, argument, message):
    silo = make_silo()
    done = subprocess.run(
        [sys.executable, "scripts/partition.py", f"corpus.path={silo.path}", argument],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and message in done.stderr
    assert len(done.stderr.splitlines()) == 1
