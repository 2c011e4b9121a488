"""Values: what in a call's arguments names a recipient, an address, a file, an amount, a thing."""

import re

LEAST_CHARACTERS = 3
MOST_VALUES = 64
"""Of one message; a longer list is cut at its end."""
TEXT_CHARACTERS = 64_000
"""Of a message that is looked at."""

# Every repetition is bounded: who writes the text must not choose how long a search takes.
_PATTERNS = (
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{1,190}",  # mail addresses
    r"https?://[^\s'\"<>)\]}]{1,500}|www\.[^\s'\"<>)\]}]{1,500}",  # links
    r"\b[A-Z]{2}\d{6,40}\w{0,40}",  # account numbers
    r"(?:/[\w.-]{1,100}){2,20}",  # paths
    r"\b[\w-]{1,100}\.[A-Za-z]\w{1,4}\b",  # file and host names
    r"\b\d[\d.,:-]{2,60}\b",  # numbers, dates, times
    r"\b(?=\w{0,99}\d)(?=\w{0,99}[A-Za-z])\w{4,100}\b",  # identifiers of letters and digits
    r"#\w{1,100}",  # channels and tags
)
_VALUE = re.compile("|".join(_PATTERNS))
# A quoted text, unless a colon follows: then it names an argument and is no value.
_QUOTED = re.compile(r"([\"'])([^\"'\n{}\[\]]{4,80})\1(?!\s*:)")
_EDGES = ".,:- "


def values(text: str, call: bool) -> list[str]:
    """Values in a text, lower case, each once, in order of appearance.

    Addresses, links, account-like identifiers, paths, file names, numbers of at least three
    characters, identifiers of letters and digits; of a call also every quoted argument of 4 to 80
    characters.

    Args:
        text: A message.
        call: Whether it calls a tool, so that quotes delimit arguments.
    """
    text = text[:TEXT_CHARACTERS]
    matches = [(match.start(), match.group()) for match in _VALUE.finditer(text)]
    start = text.find("{")
    if call and start >= 0:
        matches += [(match.start(), match.group(2)) for match in _QUOTED.finditer(text, start)]
    found: dict[str, None] = {}
    for _, raw in sorted(matches):
        value = raw.strip(_EDGES).lower()
        if len(value) >= LEAST_CHARACTERS:
            found[value] = None
    return list(found)[:MOST_VALUES]
