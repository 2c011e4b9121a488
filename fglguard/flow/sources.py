"""Sources: what an agent could have been told something by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.flow.normalisation import Value
from fglguard.flow.phrases import words
from fglguard.flow.spelled_texts import SpelledTexts

MOST_SOURCES = 2_000
"""Spans of an episode that are kept."""


@dataclass(frozen=True, slots=True)
class Source:
    """A span that an agent could have been told something by.

    Attributes:
        message: Number of the message that holds it.
        sender: Who sent that message.
        text: The span.
        likeness: I(span): how much it sounds like an instruction.
    """

    message: int
    sender: str
    text: str
    likeness: float


class Sources:
    """Sources in order, and the texts that values are looked for in, one a source."""

    def __init__(self) -> None:
        """No source yet."""
        self._sources: list[Source] = []
        self._texts = SpelledTexts()

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, place: int) -> Source:
        return self._sources[place]

    def add(self, sources: Sequence[Source], texts: Sequence[str]) -> None:
        """Sources that come after those that are there, and their texts."""
        self._sources += sources
        self._texts.add(texts)

    def keep(self, places: Sequence[int]) -> None:
        """Forget all sources but those at some places, ascending."""
        self._sources = [self._sources[place] for place in places]
        self._texts.keep(places)

    def holding(self, value: Value, reader: str) -> Iterator[Source]:
        """Those that hold a value and are not the reader's own, in order."""
        found = (self._sources[place] for place in self._texts.holding(value))
        return (source for source in found if source.sender != reader)


class Spans:
    """The untrusted spans of an episode so far, with their embeddings.

    Of more than MOST_SOURCES those stay that sound most like instructions, so that no flood of
    plain text pushes one out.
    """

    def __init__(self) -> None:
        """No span yet."""
        self.sources = Sources()
        self._senders: list[str] = []
        self._likeness = np.zeros(0, dtype=np.float32)
        self._vectors = np.zeros((0, 0), dtype=np.float32)
        self._words: dict[str, frozenset[str]] = {}

    def add(self, sources: Sequence[Source], vectors: NDArray[np.float32]) -> None:
        """Spans that come after those that are there, and their embeddings [n, d]."""
        likeness = np.array([source.likeness for source in sources], dtype=np.float32)
        self.sources.add(sources, [source.text for source in sources])
        self._senders += [source.sender for source in sources]
        self._likeness = np.concatenate((self._likeness, likeness))
        self._vectors = np.concatenate((self._vectors, vectors)) if len(self._vectors) else vectors
        if len(self.sources) > MOST_SOURCES:
            ranked = np.argsort(-self._likeness, kind="stable")
            self._keep(np.sort(ranked[:MOST_SOURCES]))

    def told(self, reader: str) -> tuple[Sequence[int], NDArray[np.float32], NDArray[np.float32]]:
        """Places, I [n] and embeddings [n, d] of the spans that are not the reader's own."""
        if reader not in self._senders:
            return range(len(self.sources)), self._likeness, self._vectors
        places = [place for place, sender in enumerate(self._senders) if sender != reader]
        return places, self._likeness[places], self._vectors[places]

    def strongest(self, reader: str) -> Source | None:
        """The span that sounds most like an instruction and is not the reader's own."""
        places, likeness, _ = self.told(reader)
        return self.sources[places[int(likeness.argmax())]] if len(places) else None

    def words(self, place: int) -> frozenset[str]:
        """A span's distinct words."""
        text = self.sources[place].text
        found = self._words.get(text)
        if found is None:
            found = self._words[text] = words(text)
        return found

    def _keep(self, places: NDArray[np.int64]) -> None:
        chosen = places.tolist()
        self.sources.keep(chosen)
        self._senders = [self._senders[place] for place in chosen]
        self._likeness, self._vectors = self._likeness[places], self._vectors[places]
