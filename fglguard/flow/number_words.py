"""Numbers in English words: "two thousand five hundred" is 2500, "one two three" is 123."""

import re

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_VALUES = {word: value for value, word in enumerate(_UNITS)} | {
    word: 10 * tens for tens, word in enumerate(_TENS, 2)
}
TOO_LARGE = 1_000_000_000
"""Numbers from here on are not put into words."""
BEYOND = 10**18
"""Numbers from here on are not read from words."""

_WORD = "|".join(sorted((*_VALUES, *_SCALES), key=len, reverse=True))
_RUN = re.compile(rf"\b(?:{_WORD})(?:[\s,-]{{1,4}}(?:and\s{{1,4}})?(?:{_WORD})\b)+")
_ONE = re.compile(_WORD)


def in_words(number: int) -> str:
    """A number from 0 below `TOO_LARGE`, in words.

    Raises:
        ValueError: It is outside.
    """
    if not 0 <= number < TOO_LARGE:
        raise ValueError(f"number: expected one from 0 below {TOO_LARGE}, got {number}")
    for word, scale in reversed(_SCALES.items()):
        if number >= scale:
            count, rest = divmod(number, scale)
            return f"{in_words(count)} {word}" + (f" {in_words(rest)}" if rest else "")
    if number < len(_UNITS):
        return _UNITS[number]
    tens, unit = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")


def in_digits(text: str) -> str:
    """A text with every run of at least two number words in digits.

    A run with a scale is one number; in any other, numbers below a hundred stand side by side.

    Args:
        text: In lower case.
    """
    return _RUN.sub(lambda run: _digits(_ONE.findall(run.group())), text)


def _digits(run: list[str]) -> str:
    return _sums(run) if any(word in _SCALES for word in run) else _side_by_side(run)


def _sums(run: list[str]) -> str:
    """Each scale multiplies what stands before it since the last larger one.

    Where a number would become `BEYOND`, another one begins: nobody can make it as long as the
    text.
    """
    numbers = [0]
    total = group = 0
    for word in run:
        if word == "hundred":
            group = (group or 1) * _SCALES[word]
        elif word in _SCALES:
            total, group = total + (group or 1) * _SCALES[word], 0
        else:
            group += _VALUES[word]
        if total + group >= BEYOND:
            total, group = 0, _SCALES.get(word, _VALUES.get(word, 0))
            numbers.append(group)
        else:
            numbers[-1] = total + group
    return " ".join(map(str, numbers))


def _side_by_side(run: list[str]) -> str:
    digits = ""
    before = 0
    for word in run:
        value = _VALUES[word]
        # "twenty four" is 24; "twenty ten" is 2010.
        digits = f"{digits[:-1]}{value}" if before >= 20 and 0 < value < 10 else f"{digits}{value}"
        before = value
    return digits
