"""A point's identity covers the sides that a file gives, not where the file is."""

import dataclasses

import numpy as np

from fglguard.corpora.splits_file import Splits
from fglguard.settings import RunSettings
from scripts.generate_flower_config import composed
from scripts.sweep.digest import outcome_digest


def test_the_content_of_a_splits_file_counts(make_silo, tmp_path) -> None:
    silo = make_silo(("a",), 12)
    values = composed("detector=paper", "privacy=none") | {
        "corpus.path": str(silo.path),
        "corpus.encoder": "hashed-words",
    }
    settings = RunSettings.from_flat(values)
    codes = np.asarray(silo.split)

    def digest(name: str, sides) -> str:
        Splits.of("sides", [silo], [sides]).write(tmp_path / name)
        corpus = dataclasses.replace(settings.corpus, splits=str(tmp_path / name))
        return outcome_digest(dataclasses.replace(settings, corpus=corpus))

    assert digest("one.json", codes) == digest("two.json", codes)
    assert digest("one.json", codes) != digest("three.json", codes[::-1])
    assert digest("one.json", codes) != outcome_digest(settings)


def test_other_code_is_another_point(make_silo, monkeypatch) -> None:
    silo = make_silo(("a",), 12)
    values = composed("detector=paper", "privacy=none") | {
        "corpus.path": str(silo.path),
        "corpus.encoder": "hashed-words",
    }
    settings = RunSettings.from_flat(values)
    before = outcome_digest(settings)
    assert outcome_digest(settings) == before
    monkeypatch.setattr("scripts.sweep.digest.code_digest", lambda: "other")
    assert outcome_digest(settings) != before
