"""Authorised values: what users themselves wrote, each as a whole.

A value that nearly is what a user wrote is somebody else's: another ending of a host, a part of an
address, look-alike letters, one group of an account number. So a value counts as authorised in the
spelling that the user chose, up to case, Unicode NFKC, invisible characters, signs and numbers
written out and encodings; numbers by what they amount to; and identifiers that are mostly digits
also in other groups, all of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from operator import itemgetter

from fglguard.flow.encodings import decoded
from fglguard.flow.normalisation import (
    LEAST_SOLID,
    PLAIN_WORDS,
    compatible,
    legible,
    signs_put_back,
    solid,
)
from fglguard.flow.number_words import in_digits

MOST_PLACES = 1_000
"""Of a value in a text that are looked at."""
_CLOSING = ")]}>\"'.,:;!?_` "
_JOINTS = frozenset(".@-+_")
"""Between two characters of words these belong to the same value."""
_JOINTS_OF_DIGITS = frozenset(",:/")
_RANGE = re.compile(r"(?<=:\d\d)-(?=\d{1,2}:)")
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9]\d{0,17})(?:\.\d{1,9})?")
_NUMBER = re.compile(
    r"(?<![\w.,:/@-])"
    r"(?:(?P<english>[1-9]\d{0,2}(?:,\d{3}){1,5}(?:\.\d{1,9})?|(?:0|[1-9]\d{0,17})(?:\.\d{1,9})?)"
    r"|(?P<european>[1-9]\d{0,2}(?:\.\d{3}){1,5},\d{1,2}|(?:0|[1-9]\d{0,17}),\d{1,2}))"
    r"(?![\w@%-]|[.,:/]\d)"
)
_GROUP = r"(?=[a-z]{0,6}\d)[a-z0-9]{2,7}"
_GROUPS = re.compile(rf"(?<!\w){_GROUP}([ -]){_GROUP}(?:\1{_GROUP}){{1,20}}(?!\w|[.,:]\d)")
"""An identifier in at least three groups, as account and telephone numbers are written."""
_BETWEEN = r"[\s()\u00b7-]"
# Scripts that are written without blanks, or with endings at the end of any word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_UNSPACED_ONE = re.compile(rf"[{_UNSPACED}]")
_SCRIPT_ENDS = re.compile(
    rf"(?<=[{_UNSPACED}])(?=[^\W_{_UNSPACED}])|(?<=[^\W_{_UNSPACED}])(?=[{_UNSPACED}])"
)
_LIST = re.compile(r"(?<=\d{4}),(?=\d{3})")
_NETWORK = re.compile(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})[/:](?=\d)")
_BEGIN_OF_TIME = re.compile(r"(?<=\d-\d\d)t(?=\d\d:)")
_IBAN = re.compile(r"[a-z]{2}[0-9]{2}[a-z0-9]{11,30}")
_GROUP_ALONE = re.compile(rf"[^\W_]+(?:{_BETWEEN}+[^\W_]+)*")


class Authorised:
    """Whether a value is one that users wrote.

    Args:
        text: What a user said at one time.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __contains__(self, value: str) -> bool:
        """Whether a value stands in the text as a whole.

        Args:
            value: In lower case, as `fglguard.flow.values` finds it.
        """
        if not self._text:
            return False
        value = _spelled(value)
        if PLAIN_WORDS.fullmatch(value):
            return any(
                _words_end_there(text, at, end)
                for text in self._texts
                for at, end in _places(value, text)
            )
        return (
            self._whole(value)
            or (_PLAIN_NUMBER.fullmatch(value) is not None and Decimal(value) in self._numbers)
            or self._grouped(value)
        )

    def _whole(self, value: str) -> bool:
        return any(
            _ends_there(text, value, at, end) and not _within(groups, at, end)
            for text, groups in zip(self._texts, self._groups, strict=True)
            for at, end in _places(value, text)
        )

    def _grouped(self, value: str) -> bool:
        """Whether the text has an identifier in other groups; one of both may be without any."""
        characters = solid(value)
        digits = sum(one.isdigit() for one in characters)
        lengths = _lengths(value)
        if lengths is None or len(characters) < LEAST_SOLID or 2 * digits < len(characters):
            return False
        if not any(characters in one for one in self._solid):
            return False
        spaced = re.compile(rf"{_BETWEEN}*".join(map(re.escape, characters)))
        return any(
            _ends_there(text, value, *match.span())
            and (not _within(groups, *match.span()) or _is_iban(characters))
            and _regrouped(lengths, _lengths(match.group()))
            for text, groups in zip(self._texts, self._groups, strict=True)
            for match in spaced.finditer(text)
        )

    @cached_property
    def _texts(self) -> Sequence[str]:
        """The text, what is encoded in it, and both with number words in digits."""
        plain = [
            _RANGE.sub(" ", _spelled(one)) for one in (self._text, *decoded(legible(self._text)))
        ]
        return list(dict.fromkeys(one for text in plain for one in _readings(text)))

    @cached_property
    def _solid(self) -> Sequence[str]:
        return [solid(text) for text in self._texts]

    @cached_property
    def _groups(self) -> Sequence[Sequence[tuple[int, int]]]:
        return [[match.span() for match in _GROUPS.finditer(text)] for text in self._texts]

    @cached_property
    def _numbers(self) -> frozenset[Decimal]:
        return frozenset(
            _amount(match)
            for text, groups in zip(self._texts, self._groups, strict=True)
            for match in _NUMBER.finditer(text)
            if not _within(groups, *match.span())
        )


def _spelled(text: str) -> str:
    text = signs_put_back(compatible(text))
    if not text.isascii():
        text = _SCRIPT_ENDS.sub(" ", text)
    return " ".join(text.split())


def _readings(text: str) -> Iterator[str]:
    """A text, and what stands in it in another way: numbers in words, lists, parts of a time."""
    yield text
    yield in_digits(text)
    yield _BEGIN_OF_TIME.sub(" ", _NETWORK.sub(r"\1 ", _LIST.sub(", ", text)))


def _places(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a value stands in a text, `MOST_PLACES` at most; it may stand in longer ones too."""
    at = text.find(value) if value else -1
    for _ in range(MOST_PLACES):
        if at < 0:
            return
        yield at, at + len(value)
        at = text.find(value, at + 1)


def _words_end_there(text: str, at: int, end: int) -> bool:
    """Whether words that stand at a place are not parts of longer ones."""
    around = (text[max(at - 2, 0) : at], text[end : end + 2][::-1])
    return not any(
        _in_word(outside[-1:]) or (outside[-1:] == "_" and _in_word(outside[:-1]))
        for outside in around
    )


def _ends_there(text: str, value: str, at: int, end: int) -> bool:
    """Whether what stands around a place in a text is not a part of the same value."""
    before, after = text[max(at - 2, 0) : at], text[end : end + 2]
    return not (
        _in_word(before[-1:])
        or _in_word(after[:1])
        or _joined(before, value[:1])
        or _joined(after[::-1], value[-1:])
        # A folder or a site is more than what stands in it, and another one than its namesake.
        or (
            "/" in value
            and after[:1] in tuple("/?&#;=~")
            and text[end + 1 : end + 3].strip(_CLOSING)
        )
        or (value[:1] == "/" and before[-1:] in ("~", "."))
    )


def _joined(outside: str, inside: str) -> bool:
    """Whether a joint connects a character of a word outside to one inside.

    Args:
        outside: The character of a word and the joint, in this order.
        inside: The value's own character beside the joint.
    """
    far, joint = outside[:1], outside[1:]
    if joint in _JOINTS and joint:
        return _in_word(far)
    return joint in _JOINTS_OF_DIGITS and far.isdigit() and inside.isdigit()


def _lengths(identifier: str) -> list[int] | None:
    """Of an identifier's groups of letters and digits; None if other signs stand in it."""
    identifier = identifier.removeprefix("+")
    if not _GROUP_ALONE.fullmatch(identifier):
        return None
    return [len(group) for group in re.split(rf"{_BETWEEN}+", identifier)]


def _regrouped(lengths: Sequence[int], others: Sequence[int] | None) -> bool:
    """Whether groups say the same: other groups than both sides chose may be another value."""
    return others is not None and (1 in (len(lengths), len(others)) or lengths == others)


def _within(groups: Sequence[tuple[int, int]], at: int, end: int) -> bool:
    """Whether a place is a part of an identifier in groups, but not all of it.

    Args:
        groups: Where identifiers in groups stand, ascending.
        at: The place's first character.
        end: One past its last.
    """
    before = bisect_right(groups, at, key=itemgetter(0)) - 1
    return before >= 0 and end <= groups[before][1] and groups[before] != (at, end)


def _amount(match: re.Match[str]) -> Decimal:
    if english := match["english"]:
        return Decimal(english.replace(",", ""))
    return Decimal(match["european"].replace(".", "").replace(",", "."))


def _in_word(character: str) -> bool:
    """Whether a character, or none, would make what stands beside it a part of another word."""
    return character.isalnum() and not _UNSPACED_ONE.match(character)


def _is_iban(characters: str) -> bool:
    """Whether letters and digits are a whole account number: ISO 7064, remainder 1 by 97."""
    if not _IBAN.fullmatch(characters):
        return False
    return int("".join(str(int(one, 36)) for one in characters[4:] + characters[:4])) % 97 == 1
