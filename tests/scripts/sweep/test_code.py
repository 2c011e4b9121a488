"""The code behind a run: all of it, and nothing that changes no outcome."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from scripts.sweep import code
from scripts.sweep.code import PACKAGES, code_digest, modules_behind

LOADED = """
import json, sys
from client.app import app as client_app
from server.app import app as server_app
from server.inprocess import simulate
simulate(server_app, client_app, json.loads(sys.argv[1]))
print(json.dumps([name for name in sys.modules if name.split(".")[0] in PACKAGES]))
"""


@pytest.mark.long
def test_every_module_that_a_run_loads_is_behind_it(run_values, tmp_path) -> None:
    """So no import escapes, such as one by name at run time."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.replace("PACKAGES", repr(PACKAGES)), run_values],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert {"fglguard.training", "strategies.fedprox", "server.rounds"} <= loaded
    drawn = {name for name in loaded if any(name.startswith(one) for one in code.DRAWING)}
    assert loaded - drawn <= set(modules_behind())


@pytest.fixture
def run_values(make_silo, tmp_path) -> str:
    from scripts.generate_flower_config import composed

    changes = {
        "corpus.path": str(make_silo().path),
        "corpus.encoder": "hashed-words",
        "federation.clients": 4,
        "federation.rounds": 1,
        "output": str(tmp_path / "run"),
    }
    return json.dumps({**composed("detector=paper", "privacy=none"), **changes})


def test_what_a_run_needs_is_behind_it_and_what_draws_is_not() -> None:
    behind = set(modules_behind())
    assert {"client.app", "fglguard.training", "fglguard.flow.taint", "strategies.moon"} <= behind
    assert not {name for name in behind if name.startswith("fglguard.evaluation.report")}
    assert "fglguard.cli" not in behind
    assert all(name.split(".")[0] in PACKAGES for name in behind)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package of three modules, the third of which only draws."""
    package = tmp_path / "demo"
    package.mkdir()
    files = {
        "__init__": "",
        "app": '"""An app."""\nfrom demo import inner\nfrom demo.picture import draw\n',
        "inner": "def f():\n    return 1\n",
        "picture": "draw = 1\n",
        "alone": "x = 1\n",
    }
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(code, "PACKAGES", ("demo",))
    monkeypatch.setattr(code, "DRAWING", ("demo.picture",))

    def change(name: str, text: str) -> str:
        (package / f"{name}.py").write_text(text)
        code_digest.cache_clear()
        return code_digest(("demo.app",))

    yield change
    code_digest.cache_clear()
    code._folder.cache_clear()


@pytest.mark.parametrize("library", ["numpy", "scikit-learn", "torch"])
def test_another_version_of_a_library_that_computes_is_another_code(
    project, monkeypatch, library
) -> None:
    text = "def f():\n    return 1\n"
    before = project("inner", text)
    monkeypatch.setattr(code, "version", lambda name: "0.0" if name == library else version(name))
    assert project("inner", text) != before


def test_what_changes_no_outcome_changes_no_digest(project) -> None:
    before = project("inner", "def f():\n    return 1\n")
    assert set(modules_behind(("demo.app",))) == {"demo", "demo.app", "demo.inner"}
    assert (
        project("inner", '"""Text."""\ndef f():\n    """More."""\n    return 1  # one\n') == before
    )
    assert project("picture", "draw = 2\n") == before
    assert project("alone", "x = 2\n") == before
    assert project("inner", "def f():\n    return 2\n") != before
