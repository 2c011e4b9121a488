"""Corpora that a simulation makes for itself."""

import shutil
from dataclasses import replace

import pytest

from fglguard.errors import SettingsError
from fglguard.settings import RunSettings
from fglguard.silo import open_silos
from scripts import corpus_preparation
from scripts.corpus_preparation import prepare_corpus
from scripts.generate_flower_config import composed


@pytest.fixture
def settings(tmp_path):
    changes = {"corpus.path": str(tmp_path / "silos" / "replay"), "corpus.encoder": "hashed-words"}
    return RunSettings.from_flat({**composed("detector=paper", "privacy=none"), **changes})


def test_what_a_killed_import_leaves_is_no_silo(settings, tmp_path, monkeypatch, make_silo):
    """A first import that was killed leaves a lock and a data folder: the next run starts over."""
    made = make_silo()
    path = tmp_path / "silos" / "replay"
    path.mkdir(parents=True)
    shutil.copytree(next(made.path.glob("data-*")), path / "data-000001")
    (path / ".lock").touch()
    episodes = made.episodes()
    monkeypatch.setattr(corpus_preparation, "generate", lambda progress: iter(list(episodes)))
    prepare_corpus(settings, None)
    assert [len(silo) for silo in open_silos(path)] == [len(made)]


def test_silos_that_are_missing_and_cannot_be_made_are_named(settings, tmp_path):
    missing = replace(settings, corpus=replace(settings.corpus, name="silos"))
    with pytest.raises(SettingsError, match=r"corpus.path: there is no silo at .*replay; make one"):
        prepare_corpus(missing, None)


@pytest.mark.parametrize("name", ["silos", "real_logs"])
def test_a_path_that_is_wrong_is_told_and_nothing_is_left_there(settings, tmp_path, name):
    wrong = replace(settings, corpus=replace(settings.corpus, name=name))
    with pytest.raises(SettingsError):
        prepare_corpus(wrong, tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_silos_that_are_prepared_are_read_without_a_lock(settings, tmp_path, make_silo):
    silo = make_silo()
    ready = replace(settings, corpus=replace(settings.corpus, path=str(silo.path)))
    prepare_corpus(ready, None)
    assert [path.name for path in tmp_path.iterdir()] == ["silo"]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (None, "none was given"),
        ([], "there is no agentdojo, agent_safetybench, openagentsafety, rjudge$"),
        (["agentdojo", "rjudge"], "there is no agent_safetybench, openagentsafety$"),
    ],
)
def test_what_the_folder_of_real_logs_must_hold_is_told(settings, tmp_path, made, told):
    real = replace(settings, corpus=replace(settings.corpus, name="real_logs"))
    for folder in made or ():
        (tmp_path / "logs" / folder).mkdir(parents=True)
    root = None if made is None else tmp_path / "logs"
    with pytest.raises(SettingsError, match=f"folders agentdojo, agent_safetybench, .*{told}"):
        prepare_corpus(real, root)
