"""Hashed bags of words: an encoder without a model."""

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SettingsError

_FORMAT = 1


class HashedWords:
    """Counts of words, hashed into d signed buckets: v = sign(c) log(1 + |c|), then v / ||v||_2.

    c is the signed count of scikit-learn's `HashingVectorizer` (MurmurHash3, alternating sign),
    which needs no fitting: two sites that never talked give one text the same vector.

    Args:
        dimension: Number of buckets d.

    Raises:
        SettingsError: `dimension` is below 1.
    """

    name = "hashed-words"

    def __init__(self, dimension: int = 384) -> None:
        if dimension < 1:
            raise SettingsError(
                f"hashed-words dimension: expected a whole number of at least 1, got {dimension}"
            )
        self.dimension = dimension
        settings = {"encoder": self.name, "format": _FORMAT, "dimension": dimension}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        self.fingerprint = f"{self.name}-{digest[:16]}"

    def encode(self, texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
        """Encode texts: [n, d] float32; a text without words gives zeros. No progress to show."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        # Here, so that a run on a prepared silo, which only asks who encoded it, starts without.
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.preprocessing import normalize

        vectorizer = HashingVectorizer(
            n_features=self.dimension,
            analyzer="word",
            alternate_sign=True,
            norm=None,
            dtype=np.float64,
        )
        counts = vectorizer.transform(texts)
        counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
        dense: NDArray[np.float32] = normalize(counts, norm="l2").toarray().astype(np.float32)
        return dense
