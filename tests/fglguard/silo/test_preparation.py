import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.errors import SiloError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from fglguard.silo.preparation import refreshed


class Failing:
    """The hashed-words encoder, which fails at its second call."""

    def __init__(self) -> None:
        self.inner = load_encoder("hashed-words")
        self.name, self.dimension = self.inner.name, self.inner.dimension
        self.fingerprint = self.inner.fingerprint
        self.calls = 0

    def encode(self, texts, *, progress=False):
        self.calls += 1
        if self.calls > 1:
            raise RuntimeError("out of power")
        return self.inner.encode(texts, progress=progress)


def test_a_silo_knows_what_was_kept_before_its_encoder_failed(
    tmp_path, make_episode, monkeypatch
) -> None:
    monkeypatch.setattr("fglguard.silo.embeddings.COMMIT_TEXTS", 8)
    monkeypatch.setattr("fglguard.silo.embeddings._CALL_TEXTS", 8)
    silo = Silo.create(tmp_path / "s", [make_episode(n, "a", True) for n in range(30)])
    encoder = Failing()
    with pytest.raises(RuntimeError, match="out of power"):
        silo.prepare(encoder, GraphSettings())
    again = Silo.open(tmp_path / "s")
    assert again._manifest == silo._manifest
    assert sum(p.texts for p in silo._manifest.embeddings[encoder.fingerprint].parts) == 8
    assert len(silo.prepare(load_encoder("hashed-words"), GraphSettings())) == 30


def test_graphs_of_another_writer_are_found(tmp_path, make_episode) -> None:
    encoder = load_encoder("hashed-words")
    mine = Silo.create(tmp_path / "s", [make_episode(n, "a", True) for n in range(10)])
    Silo.open(tmp_path / "s").prepare(encoder, GraphSettings())
    assert len(mine.graphs(encoder.fingerprint, GraphSettings())) == 10


def test_an_import_since_then_is_told(tmp_path, make_episode) -> None:
    episodes = [make_episode(n, "a", True) for n in range(10)]
    old = Silo.create(tmp_path / "s", episodes)
    Silo.create(tmp_path / "s", episodes[:5], overwrite=True)
    with pytest.raises(SiloError, match="imported anew"):
        refreshed(old.path, old._manifest)


def test_graphs_packed_again_replace_those_of_other_code(
    tmp_path, make_episode, monkeypatch
) -> None:
    """Other code is one that packs graphs without any text's vector."""
    encoder = load_encoder("hashed-words")
    silo = Silo.create(tmp_path / "s", [make_episode(n, "a", True) for n in range(10)])
    with monkeypatch.context() as patched:
        patched.setattr(
            "fglguard.silo.preparation.gather",
            lambda root, embedding, ids: np.zeros((len(ids), embedding.dimension), np.float32),
        )
        old = silo.prepare(encoder, GraphSettings())
    assert not silo.prepare(encoder, GraphSettings()).x.any()
    new = silo.prepare(encoder, GraphSettings(), again=True)
    assert new.x.any()
    assert not old.x.any()  # what is mapped stays what it was
    again = Silo.open(tmp_path / "s")
    again.verify()
    assert np.array_equal(again.graphs(encoder.fingerprint, GraphSettings()).x, new.x)
    (folder,) = {path.parent for path in silo.path.rglob("node_offsets.npy")}
    assert again.prepare(encoder, GraphSettings(), again=True).x.any()
    assert not folder.exists()
