"""Values: what in a call's arguments names a recipient, an address, a file, an amount, a thing."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache

LEAST_CHARACTERS = 3
TEXT_CHARACTERS = 64_000
"""Of a message that is looked at."""

# Every repetition is bounded: who writes the text must not choose how long a search takes.
# With each kind of value the character that none of them is without.
_KINDS = (
    ("@", r"(?<![\w.+-])\w[\w.+'-]{0,63}@[\w-]{1,63}\.[\w.-]{1,190}"),  # mail addresses
    (":", r"https?://[^\s'\"<>)\]}]{1,500}"),  # links
    (".", r"www\.[^\s'\"<>)\]}]{1,500}"),
    ("0", r"\b[A-Z]{2}\d{6,40}\w{0,40}"),  # account numbers
    ("/", r"(?:/[\w.-]{1,100}){2,20}"),  # paths
    (".", r"\b(?:[\w-]{1,100}\.){1,8}[A-Za-z]\w{1,4}\b(?![.-]\w)"),  # file and host names
    ("0", r"\b\d[\d.,:-]{2,60}\b"),  # numbers, dates, times
    ("0", r"\b(?=\w{0,99}\d)(?=\w{0,99}[A-Za-z])\w{4,100}\b"),  # identifiers of letters and digits
    ("#", r"#\w{1,100}"),  # channels and tags
)
_DIGIT = re.compile(r"\d")
# A text in double quotes whole, so that none begins at the end of another. One that a colon follows
# names an argument and is no value.
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"(\s*+:)?|\\?\Z)', re.DOTALL)
_QUOTED = re.compile(r"([\"'])([^\"'\n{}\[\]]{4,80})\1(?!\s*:)")
"""Within such a text, as a command quotes what it is about, and in calls that are no JSON."""
_ARGUMENT = range(4, 81)
"""Characters of an argument that is a value as a whole."""
_BEGIN = re.compile(r"[{(\[]")
"""Of a call's arguments."""
_EDGES = ".,:- "


def values(text: str, call: bool) -> list[str]:
    """Values in a text, lower case, each once, in order of appearance.

    Addresses, links, account-like identifiers, paths, file and host names, numbers of at least
    three characters, identifiers of letters and digits; of a call also every quoted argument of 4
    to 80 characters, of two where they are not all ASCII, and names of arguments that are several
    words.

    Args:
        text: A message.
        call: Whether it calls a tool, so that quotes delimit arguments.
    """
    text = text[:TEXT_CHARACTERS]
    matches = [(match.start(), match.group()) for match in _pattern(_signs(text)).finditer(text)]
    if call and (start := _BEGIN.search(text)):
        matches += _arguments(text, start.start())
    found: dict[str, None] = {}
    for _, raw in sorted(matches):
        value = raw.strip(_EDGES).lower()
        if len(value) >= (LEAST_CHARACTERS if value.isascii() else 2):
            found[value] = None
    return list(found)


def _arguments(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Quoted arguments of a call, and where they stand; also what is quoted within them."""
    for match in _STRING.finditer(text, start):
        raw, names = match.groups()
        # A name of several words is one that data have, not the tool.
        if names is None or " " in raw:
            said = _unescaped(raw)
            short = len(said) < _ARGUMENT.start and (said.isascii() or len(said) < 2)
            if len(said) < _ARGUMENT.stop and not short and "\n" not in said:
                yield match.start(), " ".join(said.split())
            yield from ((match.start(), quoted[2]) for quoted in _QUOTED.finditer(said))
    outside = _STRING.sub(lambda match: " " * len(match.group()), text[start:])
    yield from ((start + quoted.start(), quoted[2]) for quoted in _QUOTED.finditer(outside))


def _unescaped(said: str) -> str:
    """What a string of JSON says; what is none stays as it is."""
    if "\\" not in said:
        return said
    try:
        return str(json.loads(f'"{said}"', strict=False))
    except ValueError:
        return said


def _signs(text: str) -> str:
    """Of the kinds' characters those in a text; "0" stands for every digit."""
    signs = "".join(sign for sign in "@:./#" if sign in text)
    return f"{signs}0" if _DIGIT.search(text) else signs


@lru_cache(maxsize=2**6)
def _pattern(signs: str) -> re.Pattern[str]:
    """The kinds that a text with these signs can hold; looking for the others costs most."""
    kinds = [pattern for sign, pattern in _KINDS if sign in signs]
    return re.compile("|".join(kinds) or r"(?!)")
