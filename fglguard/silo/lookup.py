"""Embeddings of texts by the texts themselves, from a silo's cache."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import SiloError
from fglguard.silo.arrays import map_array
from fglguard.silo.embeddings import known_rows
from fglguard.silo.index import text_id
from fglguard.silo.manifest import Embedding


class TextLookup:
    """Gives the embeddings [n, d] of n texts that one encoder has encoded.

    Args:
        root: The silo's folder.
        embedding: What the encoder has encoded.
    """

    def __init__(self, root: Path, embedding: Embedding) -> None:
        """Map the cache."""
        self._root = root
        self._known = known_rows(root, embedding)
        self._parts = [
            map_array(root / part.vectors, np.float32, (part.texts, embedding.dimension))
            for part in embedding.parts
        ]
        self._starts = np.cumsum([0, *(len(part) for part in self._parts)])
        self._dimension = embedding.dimension

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The texts' embeddings, in order.

        Raises:
            SiloError: A text was not encoded.
        """
        vectors = np.empty((len(texts), self._dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            row = self._known.get(text_id(text))
            if row is None:
                raise SiloError(f"{self._root}: a text is not encoded yet")
            part = int(np.searchsorted(self._starts, row, side="right")) - 1
            vectors[place] = self._parts[part][row - self._starts[part]]
        return vectors
