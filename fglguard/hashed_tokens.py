"""Words and letter sequences of a text, counted in signed hashed buckets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Analyzer = Literal["word", "char_wb"]

LETTERS = 4
"""Letters of a letter sequence, which stays within a word."""
LONGEST_KEPT = 64
"""Characters of a word whose hashes are kept: whoever writes the texts must not choose how much
memory that takes."""
WORDS_KEPT = 1 << 15
_TOKEN = re.compile(r"\b\w\w+\b")
_BLANK_TEXT = (np.zeros(0, np.int64), np.zeros(0))


def bucket_counts(
    text: str, bits: int, analyzer: Analyzer
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The buckets that are not zero, ascending, and their signed counts.

    It is what scikit-learn's `HashingVectorizer(norm=None)` counts for words of at least two
    characters and for letter sequences (`char_wb`) of LETTERS: MurmurHash3 of a token in UTF-8
    modulo 2^bits, each token counting by its hash's sign. But each distinct word is looked at
    once, and the hashes of words are kept, as texts have most words in common.

    Args:
        text: The text.
        bits: log2 of the buckets.
        analyzer: Words, or letter sequences within words.
    """
    lower = text.lower()
    counted = Counter(_TOKEN.findall(lower) if analyzer == "word" else lower.split())
    if not counted:
        return _BLANK_TEXT
    weights = np.fromiter(counted.values(), np.float64, len(counted))
    short = max(map(len, counted)) <= LONGEST_KEPT
    if analyzer == "word":
        hashes = np.fromiter(map(_kept_hash if short else _hash, counted), np.int64, len(counted))
    else:
        parts = [*map(_kept_letter_hashes if short else _letter_hashes, counted)]
        hashes = np.concatenate(parts, dtype=np.int64)
        weights = weights.repeat(np.fromiter(map(len, parts), np.int64, len(parts)))
    np.negative(weights, out=weights, where=hashes < 0)
    counts = np.bincount(np.abs(hashes) & ((1 << bits) - 1), weights, 1 << bits)
    buckets = (counts != 0).nonzero()[0]
    return buckets, counts[buckets]


def _letter_hashes(word: str) -> NDArray[np.int32]:
    return _kept_letter_hashes(word) if len(word) <= LONGEST_KEPT else _hashes_of_letters(word)


def _hashes_of_letters(word: str) -> NDArray[np.int32]:
    padded = f" {word} "
    starts = range(max(1, len(padded) - LETTERS + 1))
    return np.array([_kept_hash(padded[i : i + LETTERS]) for i in starts], dtype=np.int32)


def _hash(token: str) -> int:
    return _murmur()(token, seed=0)


@lru_cache(maxsize=1)
def _murmur() -> Callable[..., int]:
    # Here, so that what needs no hashed text starts without scikit-learn.
    from sklearn.utils.murmurhash import murmurhash3_32

    function: Callable[..., int] = murmurhash3_32
    return function


_kept_hash = lru_cache(maxsize=WORDS_KEPT)(_hash)
_kept_letter_hashes = lru_cache(maxsize=WORDS_KEPT)(_hashes_of_letters)
