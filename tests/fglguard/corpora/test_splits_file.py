"""A file of sides gives every episode its side, or says what does not fit."""

import json
import os
import stat

import numpy as np
import pytest

from fglguard.corpora.selection import open_corpus
from fglguard.corpora.splits_file import Splits, splits_content
from fglguard.errors import SettingsError
from fglguard.sealing import seal
from fglguard.settings import CorpusSettings
from fglguard.silo import Silo


def corpus(silo, file, domains="") -> CorpusSettings:
    return CorpusSettings("silos", str(silo.path), "hashed-words", domains, str(file))


@pytest.fixture
def given(make_silo, tmp_path):
    silo = make_silo(("a", "b"), 12)
    codes = (np.arange(len(silo)) % 4).astype(np.uint8)
    codes[codes == 3] = 255
    splits = Splits.of("by hand", [silo], [codes])
    splits.write(tmp_path / "splits.json")
    return silo, codes, splits, tmp_path / "splits.json"


def test_the_silo_takes_the_files_sides(given) -> None:
    silo, codes, _, path = given
    (view,) = open_corpus(corpus(silo, path))
    assert np.array_equal(view.split, codes)
    assert not np.array_equal(silo.split, codes)
    (own,) = open_corpus(corpus(silo, ""))
    assert np.array_equal(own.split, silo.split)
    (some,) = open_corpus(corpus(silo, path, "b"))
    inside = np.array(silo.domains)[silo.domain] == "b"
    assert np.array_equal(some.split, np.where(inside, codes, 255))


def test_reading_gives_what_was_written_and_the_hash_is_the_files(given) -> None:
    _, _, splits, path = given
    again = Splits.read(path)
    assert again == splits
    assert json.loads(path.read_bytes())["sha256"] == again.sha256
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_replaced_file_is_read_again(given) -> None:
    silo, codes, _, path = given
    open_corpus(corpus(silo, path))
    Splits.of("others", [silo], [np.zeros_like(codes)]).write(path)
    assert not open_corpus(corpus(silo, path))[0].split.any()


def test_a_change_that_leaves_size_and_time_is_read_again(given) -> None:
    silo, codes, _, path = given
    before, content = path.stat(), splits_content(str(path))
    open_corpus(corpus(silo, path))
    turned = np.roll(codes, 1)
    with path.open("r+b") as file:  # the same file, not one that was renamed onto it
        file.write(seal(Splits.of("by hand", [silo], [turned])._content()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_ino) == (before.st_size, before.st_ino)
    assert np.array_equal(open_corpus(corpus(silo, path))[0].split, turned)
    assert splits_content(str(path)) not in (content, splits_content(""))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda silos: {"other": silos["silo"]}, "expected sides of the silos silo, got those of"),
        (lambda silos: silos | {"other": {}}, "got those of other, silo"),
        (lambda silos: {"silo": dict(list(silos["silo"].items())[1:])}, "1 are missing and 0"),
        (lambda silos: {"silo": silos["silo"] | {"x": "train"}}, "0 are missing and 1 unknown"),
        (lambda silos: {"silo": silos["silo"] | {"a-0": "training"}}, "got 'training'"),
        (lambda silos: {"silo": []}, "expected a side for each episode id"),
        (lambda silos: [], "expected a name and sides by silo"),
    ],
)
def test_what_does_not_fit_is_refused(given, change, told) -> None:
    silo, _, splits, path = given
    content = {"schema": 1, "name": "x", "silos": change(dict(splits.silos))}
    path.write_bytes(seal(content))
    with pytest.raises(SettingsError, match=told):
        open_corpus(corpus(silo, path))


def test_damage_and_absence_are_told(given, tmp_path) -> None:
    silo, _, _, path = given
    with pytest.raises(SettingsError, match="can't be read"):
        open_corpus(corpus(silo, tmp_path / "nowhere.json"))
    path.write_bytes(path.read_bytes().replace(b'"train"', b'"test"', 1))
    with pytest.raises(SettingsError, match="changed since it was saved"):
        open_corpus(corpus(silo, path))
    path.write_bytes(seal({"schema": 2, "name": "x", "silos": {}}))
    with pytest.raises(SettingsError, match="schema: expected 1, got 2"):
        open_corpus(corpus(silo, path))


def test_ids_are_the_episodes(given) -> None:
    silo = given[0]
    assert silo.ids == tuple(e.id for e in Silo.open(silo.path).episodes())
