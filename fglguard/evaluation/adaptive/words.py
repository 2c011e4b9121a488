"""Texts as words with their places, so that line breaks and quoting make no difference."""

from __future__ import annotations

import re
from dataclasses import dataclass

SHINGLE = 4
"""Words of a shingle."""

_WORD = re.compile(r"\w+(?:[@.:/+-]\w+)*")
_ENDS = re.compile(r"[/.!?)'\"]*")
# Markup and escaped line breaks part words, but are none.
_NO_WORDS = re.compile(r"</?[a-zA-Z][^<>]{0,500}>|\\n")

Shingle = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A text's words.

    Attributes:
        text: The text.
        words: Lower case, in order.
        spans: First character and one past the last, of each.
    """

    text: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> Words:
        """Cut a text; markup holds no words, and an escaped line break parts them."""
        found = list(_WORD.finditer(_NO_WORDS.sub(lambda m: " " * len(m.group()), text)))
        return cls(
            text,
            tuple(m.group().lower() for m in found),
            tuple((m.start(), m.end()) for m in found),
        )

    def shingles(self) -> list[Shingle]:
        """The sequences of SHINGLE words, one for each word that begins one."""
        return [self.words[i : i + SHINGLE] for i in range(len(self.words) - SHINGLE + 1)]

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """Where the words from `first` to `last` stand, with the sentence's end after them."""
        end = self.spans[last][1]
        stop = _ENDS.match(self.text, end)
        return self.spans[first][0], stop.end() if stop else end
