"""What Flower's processes start with."""

import os
import subprocess
import sys

import pytest

from scripts.flower.processes import environment


@pytest.mark.parametrize("chosen", ["here", None])
def test_bytecode_is_kept_whatever_the_machine_says(tmp_path, monkeypatch, chosen):
    """A module's second import finds what the first has compiled."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    folder = tmp_path / "cache/fglguard/bytecode"
    if chosen:
        folder = tmp_path / chosen
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(folder))
    (tmp_path / "some_module.py").write_text("VALUE = 1\n")
    variables = {**environment(tmp_path / "home"), "PYTHONPATH": str(tmp_path)}
    assert variables["FLWR_HOME"] == str(tmp_path / "home")
    assert variables["PATH"].split(os.pathsep)[0] == os.path.dirname(sys.executable)  # noqa: PTH120
    subprocess.run(
        [sys.executable, "-c", "import some_module"], env=variables, timeout=60, check=True
    )
    assert [path.name for path in folder.rglob("some_module*.pyc")]
