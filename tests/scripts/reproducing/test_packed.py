"""Graphs of other code are packed anew, those of this code are left."""

import pytest

from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.reproducing import packed
from scripts.reproducing.packed import pack_by_this_code


@pytest.fixture
def silo(make_silo):
    return make_silo()


def files(silo) -> set[tuple[str, int]]:
    folder = Silo.open(silo.path)._manifest
    return {(name, (silo.path / name).stat().st_ino) for name in folder.files if "graphs" in name}


def test_graphs_are_packed_once_by_each_code(silo, tmp_path, monkeypatch) -> None:
    record = tmp_path / "packed.json"

    def pack(settings=None) -> set[tuple[str, int]]:
        pack_by_this_code(silo.path, "hashed-words", settings or GraphSettings(), record)
        return files(silo)

    unknown = files(silo)
    first = pack()
    assert not first & unknown  # whose code packed them is not known
    assert pack() == first
    other = pack(GraphSettings(rounds=0))
    assert other > first
    assert pack() == other
    monkeypatch.setattr(packed, "code_digest", lambda _: "other")
    changed = pack()
    assert not changed & first
    assert changed > other - first
    Silo.open(silo.path).verify()
