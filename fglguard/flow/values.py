"""Values: what in a call's arguments names a recipient, an address, a file, an amount, a thing."""

import re

LEAST_CHARACTERS = 3
MOST_VALUES = 200
"""Of one message; a longer list is cut at its end."""

_PATTERNS = (
    r"[\w.+-]+@[\w-]+\.[\w.]+",  # mail addresses
    r"https?://[^\s'\"<>)\]}]+|www\.[^\s'\"<>)\]}]+",  # links
    r"\b[A-Z]{2}\d{6,}\w*",  # account numbers
    r"(?:/[\w.-]+){2,}",  # paths
    r"\b[\w-]+\.[A-Za-z]\w{1,4}\b",  # file and host names
    r"\b\d[\d.,:-]{2,}\b",  # numbers, dates, times
    r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{4,}\b",  # identifiers of letters and digits
    r"#\w+",  # channels and tags
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
