"""Texts that are searched all at once for a value, however it is spelled."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import accumulate

from fglguard.flow.normalisation import Spellings, Value, decoded

_BETWEEN = "\n"
"""Stands between texts. No value holds it, so that none is found across two of them."""


class SpelledTexts:
    """Texts in order; they are normalised when a value is first looked for."""

    def __init__(self) -> None:
        """No text yet."""
        self._texts: list[str] = []
        self._spelled: list[tuple[str, str, str]] = []
        self._joined: tuple[_Joined, _Joined, _Joined] | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Texts that come after those that are there."""
        self._texts += texts
        self._joined = None

    def keep(self, places: Sequence[int]) -> None:
        """Forget all texts but those at some places, ascending."""
        self._spell()
        self._texts = [self._texts[place] for place in places]
        self._spelled = [self._spelled[place] for place in places]
        self._joined = None

    def holding(self, value: Value) -> Iterator[int]:
        """Places of the texts that hold a value, ascending; some occur more than once."""
        if not self._texts:
            return iter(())
        if self._joined is None:
            self._spell()
            plain, folded, solid = zip(*self._spelled, strict=True)
            self._joined = _Joined(plain), _Joined(folded), _Joined(solid)
        plainly, foldedly, solidly = self._joined
        found = [plainly.holding(value.text), foldedly.holding(value.folded)]
        if value.solid is not None:
            found.append(solidly.holding(value.solid))
        return merge(*found)

    def _spell(self) -> None:
        new = self._texts[len(self._spelled) :]
        # Nearly all texts encode nothing, which is found out faster of all of them at once.
        encoded = bool(decoded(_BETWEEN.join(new)))
        for text in new:
            one = Spellings(text, encoded)
            self._spelled.append((one.plain, one.folded, one.solid))


class _Joined:
    def __init__(self, texts: Sequence[str]) -> None:
        self._text = _BETWEEN.join(texts)
        self._starts = [0, *accumulate(len(text) + len(_BETWEEN) for text in texts)][:-1]

    def holding(self, words: str) -> Iterator[int]:
        at = self._text.find(words)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            yield place
            if place + 1 == len(self._starts):
                return
            at = self._text.find(words, self._starts[place + 1])
