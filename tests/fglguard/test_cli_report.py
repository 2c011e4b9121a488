"""`fglguard report` from the command line; what pages hold is tested with the report itself."""

import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from client.app import app as client_app
from fglguard.cli import app
from fglguard.silo import Silo
from server.app import app as server_app
from server.inprocess import simulate

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture
def folder_and_silo(make_silo, tmp_path):
    from scripts.generate_flower_config import composed

    silo = make_silo()
    config = composed("detector=paper", "privacy=none") | {
        "corpus.name": "silos",
        "corpus.path": str(silo.path),
        "corpus.encoder": "hashed-words",
        "federation.clients": 4,
        "federation.rounds": 1,
        "output": str(tmp_path / "run"),
    }
    simulate(server_app, client_app, config)
    return tmp_path / "run", silo


def test_text_goes_to_the_working_directory_and_shared_pages_to_the_run(
    folder_and_silo, tmp_path, monkeypatch
):
    folder, silo = folder_and_silo
    said = next(silo.episodes([int((silo.split == 2).nonzero()[0][0])])).messages[1].text
    monkeypatch.chdir(tmp_path)
    result = run(folder, "--silo", silo.path, "--episodes", 100)
    assert result.exit_code == 0, result.output
    assert "holds text, must not leave the site" in result.output
    page = tmp_path / "report-with-text.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert said in page.read_text()

    (folder / "report.html").unlink()
    result = run(folder, "--silo", silo.path, "--episodes", 100, "--share")
    assert result.exit_code == 0, result.output
    shared = (folder / "report.html").read_text()
    assert "Episodes worth a look" in shared and said not in shared


def test_without_a_silo_there_is_no_viewer(folder_and_silo, tmp_path):
    folder, _ = folder_and_silo
    assert run(folder, "-o", tmp_path / "page.html").exit_code == 0
    assert "Episodes worth a look" not in (tmp_path / "page.html").read_text()


def test_a_folder_that_is_no_run_is_told_in_one_line(tmp_path):
    result = run(tmp_path)
    assert result.exit_code == 2
    assert re.fullmatch(r"error: .*config\.json: can't be read .*\n", result.stderr)


@pytest.mark.parametrize("other", ["other domains", "no test episodes"])
def test_a_silo_without_the_runs_test_episodes_is_an_error_and_no_page(
    folder_and_silo, tmp_path, make_silo, make_episode, other
):
    folder, _ = folder_and_silo
    if other == "other domains":
        silo = make_silo(("c", "d"), name="other")
    else:
        episodes = [make_episode(n, "a", None) for n in range(8)]
        silo = Silo.create(tmp_path / "other", episodes)
    page = tmp_path / "page.html"
    page.write_text("as it was")
    result = run(folder, "--silo", silo.path, "-o", page)
    assert result.exit_code == 2
    assert re.fullmatch(r"error: .*other: expected test episodes of the run at .*\n", result.stderr)
    assert str(folder) in result.stderr
    assert page.read_text() == "as it was"
