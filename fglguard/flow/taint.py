"""Taint: values that entered through something untrusted and left by an agent's call.

In results, and in what agents repeat, a value is the same however it is spelled
(`fglguard.flow.normalisation`); what users said counts as theirs as they wrote it
(`fglguard.flow.authorised`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Message
from fglguard.flow.authorised import Authorised
from fglguard.flow.encodings import decoded
from fglguard.flow.links import leads_to
from fglguard.flow.normalisation import Value, legible
from fglguard.flow.phrases import words
from fglguard.flow.sources import Source, Sources, Spans
from fglguard.flow.spans import plain_text, tags_by_span
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
_FIGURES = re.compile(r"[\d.,:/-]+")


@dataclass(frozen=True, slots=True)
class Taint:
    """A value in an agent's message that no user gave and an untrusted span did.

    Attributes:
        value: The value, lower case.
        span: Of the untrusted spans that hold it, or what it leads to, the one that sounds most
            like an instruction: who wants it used may well have told of it quietly before.
        likeness: How much that span sounds like an instruction.
        source: Number of the first message that brought it in.
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
        self._asked: list[Authorised] = []
        self._repeated: list[tuple[int, str]] = []
        self._repeaters: frozenset[str] = frozenset()
        self._repeated_texts = SpelledTexts()
        self.asked_words: frozenset[str] = frozenset()
        self.spans = Spans()
        self._whole = Sources()

    def ask(self, text: str) -> None:
        """Take in what a user said: its values are authorised."""
        self._asked.append(Authorised(text))
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
        strongest = found[int(np.argmax(likeness))]
        self._whole.add([strongest], [plain_text(said.text)])
        for place, tags in tags_by_span(said.text, spans).items():
            # Of a tag's own words most are a page's names for its parts.
            shown = " ".join(values(tags, False))
            self._whole.add([strongest if place is None else found[place]], [shown])
        self.spans.add(found, vectors)

    def repeat(self, number: int, said: Message) -> None:
        """Take in what an agent itself said, through which a value may have passed on."""
        self._repeated.append((number, said.sender))
        self._repeaters |= {said.sender}
        self._repeated_texts.add([said.text])

    def taints(self, number: int, said: Message) -> list[Taint]:
        """The tainted values of an agent's message, in order of appearance."""
        found = []
        foreign, unread = self._foreign(said)
        for text in foreign:
            if (brought := self._brought_in(text, said.sender)) is not None:
                value, first, told = brought
                path = self._path(value, first, said.sender)
                found.append(Taint(text, told.text, told.likeness, first.message, number, path))
        strongest = self.spans.strongest(said.sender) if unread else None
        if strongest is not None:
            path = (strongest.sender, said.sender)
            found.append(
                Taint(UNREAD, strongest.text, strongest.likeness, strongest.message, number, path)
            )
        return found

    def _is_authorised(self, value: str) -> bool:
        return any(value in asked for asked in self._asked)

    def _brought_in(self, text: str, reader: str) -> tuple[Value, Source, Source] | None:
        """What of a value came in, first by what, and by what that sounds most like an instruction.

        None where nothing brought it in, or where it leads to what is the users'.
        """
        for one in (text, *leads_to(text)):
            if one != text and self._is_authorised(one):
                return None
            value = Value(one)
            if any(True for _ in self._whole.holding(value, reader)):
                # One that stands in no span that was kept counts as its message's strongest, and
                # in a tag as the span behind which that stands.
                holders = [*self.spans.sources.holding(value, reader)]
                holders = holders or [*self._whole.holding(value, reader)]
                return value, holders[0], max(holders, key=lambda holder: holder.likeness)
        return None

    def _foreign(self, said: Message) -> tuple[list[str], bool]:
        """Values of a message that are not the users', and whether it holds more than is read.

        Of too many those are looked up first that are no bare numbers: what names a recipient is
        not pushed out by figures.
        """
        encoded = decoded(legible(said.text[:TEXT_CHARACTERS]))
        # A number of eight digits is base64 of something, too.
        inside = (values(one, False) for one in encoded if len(one) >= LEAST_INSIDE)
        held = list(dict.fromkeys(chain(values(said.text, said.kind == "call"), *inside)))
        places = sorted(
            range(len(held)), key=lambda place: _FIGURES.fullmatch(held[place]) is not None
        )
        foreign = (place for place in places if not self._is_authorised(held[place]))
        found = list(islice(foreign, MOST_LOOKED_UP + 1))
        unread = len(found) > MOST_LOOKED_UP or len(said.text) > TEXT_CHARACTERS
        return [held[place] for place in sorted(found[:MOST_LOOKED_UP])], unread

    def _path(self, value: Value, source: Source, last: str) -> tuple[str, ...]:
        between: dict[str, None] = {}
        for place in self._repeated_texts.holding(value):
            number, sender = self._repeated[place]
            if number > source.message:
                between[sender] = None
                if len(between) == len(self._repeaters):
                    break
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
