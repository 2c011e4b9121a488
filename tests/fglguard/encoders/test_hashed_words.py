import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from fglguard.encoders.hashed_words import HashedWords
from fglguard.errors import SettingsError


def by_hand(text: str, dimension: int) -> np.ndarray:
    """Word w goes to bucket |h(w)| mod d with the sign of h(w); then sign(c) log(1 + |c|), unit."""
    counts = np.zeros(dimension)
    for word in text.lower().split():
        code = murmurhash3_32(word, seed=0)
        counts[abs(code) % dimension] += 1 if code >= 0 else -1
    logs = np.sign(counts) * np.log1p(np.abs(counts))
    return logs / np.linalg.norm(logs)


@pytest.mark.parametrize("dimension", [16, 384])
def test_a_vector_is_the_formula_by_hand(dimension):
    text = "send the money to the account of the one who asks"
    vector = HashedWords(dimension).encode([text])[0]
    assert vector == pytest.approx(by_hand(text, dimension), abs=1e-6)


def test_a_text_without_words_gives_zeros():
    assert not HashedWords().encode(["?!"]).any()


def test_the_dimension_is_part_of_the_fingerprint_and_checked():
    assert HashedWords(16).fingerprint != HashedWords(32).fingerprint
    with pytest.raises(SettingsError, match="got 0"):
        HashedWords(0)
