"""Utterance encoders: the frozen phi that turns a text into a vector of unit length."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import EncoderError, suggestion
from fglguard.utterances import Tokenize

ENCODERS = ("minilm", "hashed-words")


class Encoder(Protocol):
    """What silos and guards ask of an encoder.

    A text's vector depends on the text alone, never on what else is in the call (to 1e-6).
    """

    @property
    def name(self) -> str:
        """The name `load_encoder` knows it by."""

    @property
    def dimension(self) -> int:
        """Width d of a vector."""

    @property
    def fingerprint(self) -> str:
        """Equal on every machine for the same weights and settings, and only then."""

    def encode(self, texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
        """Encode texts: [n, d] float32, rows of unit length (zeros for a text without words)."""


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that reads tokens, so that its model can be trained further."""

    def token_ids(self, texts: Sequence[str], most: int) -> list[NDArray[np.uint16]]:
        """Each text's token ids, at most `most` of them, start and end marks included."""


def tokenizer_of(encoder: Encoder, most: int) -> Tokenize:
    """How an encoder cuts texts into at most `most` tokens each.

    Raises:
        EncoderError: It reads no tokens.
    """
    if not isinstance(encoder, TokenEncoder):
        raise EncoderError(f"encoder {encoder.name}: reads no tokens, so that it can't be trained")
    return lambda texts: encoder.token_ids(texts, most)


def load_encoder(name: str, *, threads: int = 1) -> Encoder:
    """Load an encoder by name, from what is installed; nothing is fetched.

    Args:
        name: `minilm` (all-MiniLM-L6-v2, 384 wide) or `hashed-words` (no model, 384 wide).
        threads: Batches encoded at a time, for a process that has the machine to itself.

    Raises:
        EncoderError: The name is unknown, or the encoder's packages are not installed.
    """
    if name == "minilm":
        from fglguard.encoders.minilm import MiniLM

        return MiniLM(threads=threads)
    if name == "hashed-words":
        from fglguard.encoders.hashed_words import HashedWords

        return HashedWords()
    raise EncoderError(
        f"encoder: expected one of {', '.join(ENCODERS)}, got {name!r}{suggestion(name, ENCODERS)}"
    )
