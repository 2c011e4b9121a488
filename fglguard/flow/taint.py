"""Taint: values that entered through something untrusted and left by an agent's call.

A value is the same however it is spelled (`fglguard.flow.normalisation`): in a result, in what
the user said, and in what agents repeat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Message
from fglguard.flow.authorised import Authorised
from fglguard.flow.encodings import decoded
from fglguard.flow.links import leads_to
from fglguard.flow.normalisation import Value, legible
from fglguard.flow.phrases import words
from fglguard.flow.sources import Source, Sources, Spans
from fglguard.flow.spans import inside_tags, plain_text
from fglguard.flow.spelled_texts import SpelledTexts
from fglguard.flow.values import TEXT_CHARACTERS, values

MOST_LOOKED_UP = 512
"""Values of a message that are looked up in what was said before."""
LEAST_INSIDE = 6
"""Characters of an encoded text whose values count."""
UNREAD = "(more than is read)"
"""Stands for the values of a message that were not looked up.

They count as one that came in by the span that sounds most like an instruction: who fills a call
until the guard stops reading gains nothing by it.
"""
_APART = " \ue000 "
"""Between what users said at different times: no value goes on past it."""
_FIGURES = re.compile(r"[\d.,:/-]+")


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

    def __init__(self) -> None:
        """Nothing said yet."""
        self._asked = ""
        self._authorised = Authorised("")
        self._repeated: list[tuple[int, str]] = []
        self._repeated_texts = SpelledTexts()
        self.asked_words: frozenset[str] = frozenset()
        self.spans = Spans()
        self._whole = Sources()

    def ask(self, text: str) -> None:
        """Take in what a user said: its values are authorised."""
        self._asked += f"{text}{_APART}"
        self._authorised = Authorised(self._asked)
        self.asked_words |= words(text)

    def hear(
        self,
        number: int,
        said: Message,
        spans: Sequence[str],
        likeness: NDArray[np.float32],
        vectors: NDArray[np.float32],
    ) -> None:
        """Take in the spans of an untrusted message, with their embeddings [n, d].

        The whole message is kept to look values up in: one that stands in no span that was kept
        counts as brought in by the message's most instruction-like span.
        """
        found = [
            Source(number, said.sender, span, one)
            for span, one in zip(spans, likeness.tolist(), strict=True)
        ]
        whole = f"{plain_text(said.text)}{_APART}{inside_tags(said.text)}"
        self._whole.add([found[int(np.argmax(likeness))]], [whole])
        self.spans.add(found, vectors)

    def repeat(self, number: int, said: Message) -> None:
        """Take in what an agent itself said, through which a value may have passed on."""
        self._repeated.append((number, said.sender))
        self._repeated_texts.add([said.text])

    def taints(self, number: int, said: Message) -> list[Taint]:
        """The tainted values of an agent's message, in order of appearance."""
        found = []
        foreign, unread = self._foreign(said)
        for text in foreign:
            if (brought := self._brought_in(text, said.sender)) is not None:
                value, source = brought
                path = self._path(value, source, said.sender)
                found.append(
                    Taint(text, source.text, source.likeness, source.message, number, path)
                )
        strongest = self.spans.strongest(said.sender) if unread else None
        if strongest is not None:
            path = (strongest.sender, said.sender)
            found.append(
                Taint(UNREAD, strongest.text, strongest.likeness, strongest.message, number, path)
            )
        return found

    def _brought_in(self, text: str, reader: str) -> tuple[Value, Source] | None:
        """By what a value came in, or what it leads to that is not the users'; None by nothing."""
        for one in (text, *leads_to(text)):
            if one != text and one in self._authorised:
                return None
            value = Value(one)
            # The first span that holds it; else the first message.
            source = self.spans.sources.first_holding(value, reader)
            source = source or self._whole.first_holding(value, reader)
            if source is not None:
                return value, source
        return None

    def _foreign(self, said: Message) -> tuple[list[str], bool]:
        """Values of a message that are not the users', and whether it holds more than is read.

        Of too many those are looked up first that are no bare numbers: what names a recipient is
        not pushed out by figures.
        """
        encoded = decoded(legible(said.text[:TEXT_CHARACTERS]))
        # A number of eight digits is base64 of something, too.
        inside = (values(one, False) for one in encoded if len(one) >= LEAST_INSIDE)
        held = dict.fromkeys(chain(values(said.text, said.kind == "call"), *inside))
        found = [value for value in held if value not in self._authorised]
        too_long = len(said.text) > TEXT_CHARACTERS
        if len(found) <= MOST_LOOKED_UP:
            return found, too_long
        ranked = sorted(
            range(len(found)), key=lambda place: _FIGURES.fullmatch(found[place]) is not None
        )
        return [found[place] for place in sorted(ranked[:MOST_LOOKED_UP])], True

    def _path(self, value: Value, source: Source, last: str) -> tuple[str, ...]:
        repeated = (self._repeated[place] for place in self._repeated_texts.holding(value))
        between = [sender for number, sender in repeated if number > source.message]
        return tuple(dict.fromkeys([source.sender, *between, last]))


MOST_TOLD = 5
"""Taints that a verdict tells of."""


def most_suspicious(taints: Sequence[Taint]) -> tuple[Taint, ...]:
    """The taints whose spans sound most like instructions, each value once, on its longest path."""
    ranked = sorted(taints, key=lambda taint: (-taint.likeness, -len(taint.path), taint.message))
    by_value: dict[str, Taint] = {}
    for taint in ranked:
        by_value.setdefault(taint.value, taint)
    return tuple(by_value.values())[:MOST_TOLD]
