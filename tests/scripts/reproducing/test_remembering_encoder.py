"""A text is encoded once; what is remembered equals what the encoder gives."""

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.errors import EncoderError
from scripts.reproducing.remembering_encoder import RememberingEncoder


class Counting:
    """The hashed-words encoder, with a list of what it was asked for."""

    def __init__(self):
        self.inner = load_encoder("hashed-words")
        self.asked = []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def encode(self, texts, *, progress=False):
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
