"""Texts that are searched all at once for a value, however it is spelled."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import accumulate

from fglguard.flow.encodings import decoded
from fglguard.flow.normalisation import Spellings, Value, legible

_AFTER = "\n"
"""Stands after each text. No value holds it, so that none is found across two of them."""
_APART = "\n|\n"
"""Between texts that are decoded together: no encoding goes on past it."""


class SpelledTexts:
    """Texts in order; they are normalised when a value is first looked for."""

    def __init__(self) -> None:
        """No text yet."""
        self._texts: list[str] = []
        self._spelled: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._joined: tuple[_Joined, _Joined, _Joined] | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Texts that come after those that are there."""
        self._texts += texts
        self._joined = None

    def keep(self, places: Sequence[int]) -> None:
        """Forget all texts but those at some places, ascending."""
        self._spell()
        self._texts = [self._texts[place] for place in places]
        plain, folded, solid = ([one[place] for place in places] for one in self._spelled)
        self._spelled = plain, folded, solid
        self._joined = None

    def holding(self, value: Value) -> Iterator[int]:
        """Places of the texts that hold a value, ascending; some occur more than once."""
        if not self._texts:
            return iter(())
        if self._joined is None:
            self._spell()
            plain, folded, solid = self._spelled
            plainly = _Joined(plain)
            foldedly = plainly if folded == plain else _Joined(folded)
            self._joined = plainly, foldedly, _Joined(solid)
        plainly, foldedly, solidly = self._joined
        searches = {(plainly, value.text): None, (foldedly, value.folded): None}
        if value.solid is not None:
            searches[solidly, value.solid] = None
        found = [places for one, words in searches if (places := one.holding(words))]
        return found[0] if len(found) == 1 else merge(*found)

    def _spell(self) -> None:
        plain, folded, solid = self._spelled
        new = self._texts[len(plain) :]
        # Nearly all texts encode nothing, which is found out faster of all of them at once.
        encoded = bool(decoded(legible(_APART.join(new))))
        for text in new:
            one = Spellings(text, encoded)
            # All three before any is kept: they must stay of one length, whatever goes wrong.
            spelled = one.plain + _AFTER, one.folded + _AFTER, one.solid + _AFTER
            for texts, words in zip((plain, folded, solid), spelled, strict=True):
                texts.append(words)


class _Joined:
    """Spelled texts one after another."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def holding(self, words: str) -> Iterator[int] | None:
        """Places of the texts that hold some words, ascending; None without any."""
        at = self._text.find(words)
        return self._places(words, at) if at >= 0 else None

    def _places(self, words: str, at: int) -> Iterator[int]:
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            if place == len(self._texts):  # no words at all are found behind the last text too
                return
            yield place
            at = self._text.find(words, self._starts[place + 1])

    @cached_property
    def _text(self) -> str:
        return "".join(self._texts)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(map(len, self._texts))]
