"""Embeddings that are kept: the encoder's own, asked for once."""

import numpy as np

from fglguard.encoder import load_encoder
from fglguard.vectors import Vectors


class Counting:
    def __init__(self) -> None:
        self._real = load_encoder("hashed-words")
        self.dimension = self._real.dimension
        self.asked: list[list[str]] = []

    def encode(self, texts, *, progress=False):
        self.asked.append(list(texts))
        return self._real.encode(texts)


def test_each_text_is_encoded_once_and_gets_the_encoders_vector() -> None:
    encoder = Counting()
    vectors = Vectors(encoder, most=10)
    found = vectors.encode(["a cat", "a dog", "a cat"])
    assert np.array_equal(found, load_encoder("hashed-words").encode(["a cat", "a dog", "a cat"]))
    assert np.array_equal(vectors.of("a dog"), found[1])
    assert encoder.asked == [["a cat", "a dog"]]
    assert not vectors.nothing.any()


def test_the_longest_unused_is_forgotten() -> None:
    encoder = Counting()
    vectors = Vectors(encoder, most=2)
    for text in ("one", "two", "one", "three", "one", "two"):
        vectors.of(text)
    assert encoder.asked == [["one"], ["two"], ["three"], ["two"]]


def test_more_texts_at_once_than_are_kept_are_all_given() -> None:
    vectors = Vectors(Counting(), most=1)
    assert len(vectors.encode(["one", "two", "three"])) == 3
