"""Corpora that a simulation makes for itself."""

import shutil

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
    from dataclasses import replace

    missing = replace(settings, corpus=replace(settings.corpus, name="silos"))
    with pytest.raises(SettingsError, match=r"corpus.path: there is no silo at .*replay; make one"):
        prepare_corpus(missing, None)
