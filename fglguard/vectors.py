"""Embeddings by text, those asked for of late kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fglguard.encoder import Encoder

LONGEST_KEPT = 256
"""Characters of a text that is kept itself."""


class Vectors:
    """An encoder with a memory; safe to share among threads.

    Args:
        encoder: It is asked for one batch at a time.
        most: Embeddings that are kept, the last used.
    """

    def __init__(self, encoder: Encoder, most: int) -> None:
        self._encoder = encoder
        self._most = most
        self._kept: OrderedDict[str | bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        self._encoding = threading.Lock()

    @property
    def nothing(self) -> NDArray[np.float32]:
        """[d] zeros."""
        return np.zeros(self._encoder.dimension, np.float32)

    def of(self, text: str) -> NDArray[np.float32]:
        """[d] the embedding of one text."""
        found: NDArray[np.float32] = self.encode([text])[0]
        return found

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, d] the embeddings of texts; those not kept are encoded together."""
        found = self._known(texts)
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            with self._encoding:
                # Another thread may have been at the same text.
                found |= self._known(missing)
                missing = [text for text in missing if text not in found]
                if missing:
                    found |= zip(missing, self._encoder.encode(missing), strict=True)
                    self._keep({text: found[text] for text in missing})
        return np.stack([found[text] for text in texts])

    def _known(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        keys = {text: _key(text) for text in texts}
        with self._lock:
            known = {text: self._kept[key] for text, key in keys.items() if key in self._kept}
            for text in known:
                self._kept.move_to_end(keys[text])
        return known

    def _keep(self, vectors: dict[str, NDArray[np.float32]]) -> None:
        new = {_key(text): vector for text, vector in vectors.items()}
        with self._lock:
            self._kept |= new
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def _key(text: str) -> str | bytes:
    """What stands for a text: of a long one not the text itself, which would fill the memory."""
    if len(text) <= LONGEST_KEPT:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
