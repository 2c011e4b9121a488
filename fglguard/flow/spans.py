"""Spans: what a tool or colleague returned, cut into pieces of about a sentence."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from fglguard.flow.normalisation import legible
from fglguard.flow.phrases import DIRECTIVE

LEAST_CHARACTERS = 120
"""Shorter pieces are merged with what follows, so that a span says something on its own."""
MOST_CHARACTERS = 240
MOST_SPANS = 40
"""Of one text; see `chosen` for which."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_ATTRIBUTE = re.compile(r"\"([^\"]{1,400})\"|'([^']{1,400})'")
_TAILS = (24, 12, 6)
"""Characters in front of a tag by which its span is found."""
LEAST_WORDS = 3
"""An attribute of a tag with fewer words is markup, not something said."""
# Sentence ends, closing brackets of records, column bars, quoted items of a list.
_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[\]}])\s*|\s*\|\s*|(?<=')\s*,\s*(?=')")


def plain_text(text: str) -> str:
    """A text without tags and invisible characters, blanks and escaped newlines as single blanks.

    What a page hides from a person it still says to an agent: the content of comments and scripts
    stays, and so do a tag's attributes of several words.
    """
    text = legible(text).replace("<!--", " ").replace("-->", " ")
    text = _TAG.sub(_said_by_tag, text).replace("\\n", " ").replace("\\t", " ")
    return " ".join(text.split())


def tags_by_span(text: str, found: Sequence[str]) -> Mapping[int | None, str]:
    """What `plain_text` leaves out, by the place of the span that it stands behind.

    An address or a link in angle brackets looks like a tag, and the link that a page shows other
    words for stands in one: it was brought in by those words.

    Args:
        text: A message.
        found: Spans of its plain text, in order.

    Returns:
        Tags, one after another, by places in `found`; None for those behind none of them.
    """
    tags: dict[int | None, list[str]] = {}
    text, end, place = legible(text), 0, None
    for tag in _TAG.finditer(text) if "<" in text else ():
        before = " ".join(text[end : tag.start()].replace("\\n", " ").replace("\\t", " ").split())
        end = tag.end()
        if before:
            place = _place_of(before, found, place or 0)
        tags.setdefault(place, []).append(tag.group())
    return {place: " ".join(some) for place, some in tags.items()}


def _place_of(words: str, found: Sequence[str], first: int) -> int | None:
    """The span that a text ends in, looked for from one on; a span may begin within the text."""
    for length in _TAILS:
        tail = words[-length:]
        for place in range(first, len(found)):
            if tail in found[place]:
                return place
    return None


def _said_by_tag(tag: re.Match[str]) -> str:
    quoted = ("".join(pair) for pair in _ATTRIBUTE.findall(tag.group()))
    return " ".join(["", *(text for text in quoted if len(text.split()) >= LEAST_WORDS), ""])


def spans(text: str) -> list[str]:
    """Cut a plain text into spans of at most MOST_CHARACTERS, in order.

    The text is cut at sentence and bracket ends; a piece is merged with those that follow while
    together they have fewer than LEAST_CHARACTERS, and cut where it has more than MOST_CHARACTERS.
    """
    found: list[str] = []
    current = ""
    for piece in filter(None, (piece.strip() for piece in _ENDS.split(text))):
        if len(current) + len(piece) < LEAST_CHARACTERS:
            current = f"{current} {piece}".strip()
            continue
        if current:
            found.append(current)
        while len(piece) > MOST_CHARACTERS:
            found.append(piece[:MOST_CHARACTERS])
            piece = piece[MOST_CHARACTERS:]
        current = piece
    if current:
        found.append(current)
    return found


def chosen(found: list[str], most: int = MOST_SPANS) -> list[str]:
    """At most so many of the spans: first those with directive phrases, the rest evenly spread.

    A long page must not hide what it orders.
    """
    if len(found) <= most:
        return found
    directing = [place for place, span in enumerate(found) if DIRECTIVE.occur(span)]
    kept = set(_evenly(directing, most))
    others = [place for place in range(len(found)) if place not in kept]
    kept.update(_evenly(others, most - len(kept)))
    return [found[place] for place in sorted(kept)]


def _evenly(places: list[int], most: int) -> list[int]:
    if len(places) <= most:
        return places
    return [places[i] for i in np.linspace(0, len(places) - 1, most).astype(int)]
