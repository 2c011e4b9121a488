"""Taint: values that entered through something untrusted and left by an agent's call.

A value is the same however it is spelled (`fglguard.flow.normalisation`): in a result, in what
the user said, and in what agents repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode
from fglguard.flow.normalisation import Spellings, Value
from fglguard.flow.phrases import words
from fglguard.flow.spans import plain_text
from fglguard.flow.values import values

MOST_SOURCES = 2_000
"""Spans of an episode that are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A span that an agent could have been told something by.

    Attributes:
        message: Number of the message that holds it.
        text: The span.
        spellings: Where values are looked for in it.
        words: Its distinct words.
        likeness: I(span): how much it sounds like an instruction.
        vector: [d], its embedding.
    """

    message: int
    text: str
    spellings: Spellings
    words: frozenset[str]
    likeness: float
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Taint:
    """A value in an agent's message that no user gave and an untrusted span did.

    Attributes:
        value: The value, lower case.
        span: The first untrusted span that holds it.
        likeness: How much that span sounds like an instruction.
        source: Number of the message with the span.
        message: Number of the agent's message.
        path: Who the value passed through: the source's sender, agents that repeated it in
            between, and the agent whose message it is. Ids, each once, in order.
    """

    value: str
    span: str
    likeness: float
    source: int
    message: int
    path: tuple[str, ...]


class Ledger:
    """What has been said so far, by whom it can be trusted."""

    def __init__(self, episode: Episode) -> None:
        """Nothing said yet."""
        self._episode = episode
        self._asked = ""
        self._authorised = Spellings("")
        self._repeated: list[tuple[int, Spellings]] = []
        self.asked_words: frozenset[str] = frozenset()
        self.sources: list[Source] = []
        self._whole: list[Source] = []

    def ask(self, text: str) -> None:
        """Take in what a user said: its values are authorised."""
        self._asked += f" {text}"
        self._authorised = Spellings(self._asked)
        self.asked_words |= words(text)

    def hear(
        self,
        message: int,
        spans: Sequence[str],
        likeness: NDArray[np.float32],
        vectors: NDArray[np.float32],
    ) -> None:
        """Take in the spans of an untrusted message, with their embeddings [n, d].

        Of too many spans those stay that sound most like instructions, so that no flood of plain
        text pushes one out. The whole message is kept to look values up in: one that stands in a
        span that was left out counts as brought in by the message's most instruction-like span.
        """
        strongest = int(np.argmax(likeness))
        whole = plain_text(self._episode.messages[message].text)
        self._whole.append(
            Source(
                message,
                spans[strongest],
                Spellings(whole),
                frozenset(),
                float(likeness[strongest]),
                vectors[strongest],
            )
        )
        self.sources += [
            Source(message, span, Spellings(span), words(span), float(one), vector)
            for span, one, vector in zip(spans, likeness, vectors, strict=True)
        ]
        if len(self.sources) > MOST_SOURCES:
            ranked = sorted(
                range(len(self.sources)), key=lambda place: -self.sources[place].likeness
            )
            self.sources = [self.sources[place] for place in sorted(ranked[:MOST_SOURCES])]

    def repeat(self, message: int, text: str) -> None:
        """Take in what an agent itself said, through which a value may have passed on."""
        self._repeated.append((message, Spellings(text)))

    def taints(self, message: int) -> list[Taint]:
        """The tainted values of an agent's message, in order of appearance."""
        said = self._episode.messages[message]
        found = []
        for text in values(said.text, said.kind == "call"):
            value = Value(text)
            if self._authorised.name(value):
                continue
            source = self._first_source(value, said.sender)
            if source is not None:
                found.append(
                    Taint(
                        text,
                        source.text,
                        source.likeness,
                        source.message,
                        message,
                        self._path(value, source.message, said.sender),
                    )
                )
        return found

    def _first_source(self, value: Value, reader: str) -> Source | None:
        """The first span that holds a value and is not the reader's own; else the first message."""
        messages = self._episode.messages
        return next(
            (
                source
                for source in (*self.sources, *self._whole)
                if source.spellings.hold(value) and messages[source.message].sender != reader
            ),
            None,
        )

    def _path(self, value: Value, source: int, last: str) -> tuple[str, ...]:
        messages = self._episode.messages
        between = [
            messages[number].sender
            for number, text in self._repeated
            if number > source and text.hold(value)
        ]
        return tuple(dict.fromkeys([messages[source].sender, *between, last]))


MOST_TOLD = 5
"""Taints that a verdict tells of."""


def most_suspicious(taints: Sequence[Taint]) -> tuple[Taint, ...]:
    """The taints whose spans sound most like instructions, each value once, on its longest path."""
    ranked = sorted(taints, key=lambda taint: (-taint.likeness, -len(taint.path), taint.message))
    by_value: dict[str, Taint] = {}
    for taint in ranked:
        by_value.setdefault(taint.value, taint)
    return tuple(by_value.values())[:MOST_TOLD]
