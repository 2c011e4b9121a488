"""A text is encoded once; what is remembered equals what the encoder gives."""

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.errors import EncoderError
from scripts.reproducing import remembering_encoder
from scripts.reproducing.remembering_encoder import RememberingEncoder


class Counting:
    """The hashed-words encoder, with a list of what it was asked for; cut off after so many."""

    def __init__(self, most=None):
        self.inner = load_encoder("hashed-words")
        self.asked = []
        self.most = most

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def encode(self, texts, *, progress=False):
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked += texts
        return self.inner.encode(texts)


def test_each_text_is_encoded_once_and_kept(make_silo, tmp_path) -> None:
    silo = make_silo(("a",), 8)
    known = next(iter(silo.episodes())).texts[0]
    texts = ["new one", known, "another", "new one"]
    expected = load_encoder("hashed-words").encode(texts)
    first = Counting()
    encoder = RememberingEncoder(first, [silo], tmp_path / "kept.npz")
    np.testing.assert_array_equal(encoder.encode(texts), expected)
    np.testing.assert_array_equal(encoder.encode(texts), expected)
    assert first.asked == ["new one", "another"]
    assert (tmp_path / "kept.npz").stat().st_mode & 0o777 == 0o600

    second = Counting()
    again = RememberingEncoder(second, [silo], tmp_path / "kept.npz")
    np.testing.assert_array_equal(again.encode(texts), expected)
    assert second.asked == []
    assert again.encode([]).shape == (0, first.dimension)
    assert (again.name, again.fingerprint) == (first.name, first.fingerprint)


def test_a_damaged_file_is_named(make_silo, tmp_path) -> None:
    (tmp_path / "kept.npz").write_bytes(b"no archive")
    with pytest.raises(EncoderError, match=r"kept\.npz: expected vectors of texts"):
        RememberingEncoder(Counting(), [make_silo(("a",), 8)], tmp_path / "kept.npz")


def test_who_is_cut_off_goes_on_where_it_stopped(make_silo, tmp_path) -> None:
    silos = [make_silo(("a",), 8)]
    attacks = [[f"attack {a} text {n}" for n in range(5)] for a in range(3)]
    texts = [text for attack in attacks for text in attack]
    whole = RememberingEncoder(Counting(), silos, tmp_path / "whole.npz")
    whole.learn(texts)

    first = Counting(most=5)
    with pytest.raises(KeyboardInterrupt):
        RememberingEncoder(first, silos, tmp_path / "cut.npz").learn(texts, progress=True)
    assert first.asked == attacks[0]
    second = Counting()
    again = RememberingEncoder(second, silos, tmp_path / "cut.npz")
    again.learn(texts)
    assert second.asked == attacks[1] + attacks[2]
    np.testing.assert_array_equal(again.encode(texts), whole.encode(texts))
    assert (tmp_path / "cut.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_what_a_killed_process_keeps(make_silo, tmp_path, monkeypatch) -> None:
    """Nothing is written after the kill, so what stands there was written on the way."""
    monkeypatch.setattr(remembering_encoder, "KEEP_EVERY", 4)
    texts = [f"text {n}" for n in range(11)]
    kept = tmp_path / "kept.npz"
    sizes = []

    class Watching(Counting):
        def encode(self, texts, *, progress=False):
            sizes.append(len(np.load(kept)["ids"]) if kept.exists() else 0)
            return super().encode(texts)

    RememberingEncoder(Watching(), [make_silo(("a",), 8)], kept).learn(texts)
    assert sizes == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8]
    assert len(np.load(kept)["ids"]) == 11
