"""Encodings undone: percent encoding, escapes of HTML and JSON, hexadecimal, base64."""

import base64
import binascii
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import unquote

LEAST_ENCODED = 8
"""Characters of a word that may be base64 or hexadecimal."""
LEAST_LINE = 32
"""Characters of a line of an encoded text that goes on in the next line."""
MOST_LAYERS = 4
"""Encodings of one another that are undone; what is wrapped deeper is not read."""

# `%41`, and the word that it stands in.
_PERCENT = re.compile(r"[^\s%]{0,200}(?:%[0-9a-fA-F]{2}[^\s%]{0,200}){1,200}")
# `&#64;` or `\\u0040`, and the word that it stands in.
_ENTITY = re.compile(
    r"[^\s&]{0,200}(?:&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,8});[^\s&]{0,200}){1,50}"
)
_ESCAPE = re.compile(r"[^\s\\]{0,200}(?:\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[^\s\\]{0,200}){1,50}")
_ESCAPED = re.compile(r"\\[ux]([0-9a-fA-F]{4}|[0-9a-fA-F]{2})")
_HEXADECIMAL = re.compile(rf"\b(?:[0-9a-fA-F]{{2}}){{{LEAST_ENCODED // 2},}}\b")
# Words in small letters, with a capital at most, are taken for words.
_BASE64 = re.compile(
    rf"(?<![A-Za-z0-9+/=_-])(?=.[a-z/_-]*[A-Z0-9+])[A-Za-z0-9+/_-]{{{LEAST_ENCODED},}}={{0,2}}"
)
_LINES = re.compile(
    rf"(?<![A-Za-z0-9+/=_-])(?:[A-Za-z0-9+/_-]{{{LEAST_LINE},}}\s{{1,8}})+"
    r"[A-Za-z0-9+/_-]{2,}={0,2}"
)
_HEXADECIMAL_ALONE = re.compile(r"(?:[0-9a-fA-F]{2})+")

_URL_SAFE = str.maketrans("+/", "-_")


def decoded(text: str) -> list[str]:
    r"""What is encoded in a text and decodes to printable text, and what is encoded in that.

    Encodings are percent, escapes of HTML (`&#64;`) and JSON (`\u0040`), hexadecimal and base64,
    also folded into lines; up to `MOST_LAYERS` of one another.
    """
    found: list[str] = []
    layer = [text]
    for _ in range(MOST_LAYERS):
        layer = [inner for outer in layer for inner in _once(outer) if inner]
        found += layer
    return found


def _once(text: str) -> Iterator[str]:
    if "%" in text:
        yield from (unquote(match.group()) for match in _PERCENT.finditer(text))
    if "&" in text:
        found = ((match.group(), unescape(match.group())) for match in _ENTITY.finditer(text))
        yield from (plain for escaped, plain in found if plain != escaped)
    if "\\" in text:
        yield from (
            _ESCAPED.sub(lambda one: chr(int(one[1], 16)), match.group())
            for match in _ESCAPE.finditer(text)
        )
    yield from (_readable(bytes.fromhex(match.group())) for match in _HEXADECIMAL.finditer(text))
    yield from (_readable(_unbase64(match.group())) for match in _BASE64.finditer(text))
    for match in _LINES.finditer(text):
        yield _unfolded(match.group().split())


def _unfolded(lines: list[str]) -> str:
    """The text that lines hold together; the last may be a word that only follows them."""
    for last in (len(lines), len(lines) - 1):
        whole = "".join(lines[:last])
        plain = _HEXADECIMAL_ALONE.fullmatch(whole)
        if found := _readable(bytes.fromhex(whole) if plain else _unbase64(whole)):
            return found
    return ""


def _unbase64(word: str) -> bytes:
    word = word.rstrip("=").translate(_URL_SAFE)
    try:
        return base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
    except (binascii.Error, ValueError):
        return b""


def _readable(content: bytes) -> str:
    """The text, or nothing where it is none."""
    try:
        text = " ".join(content.decode().split())
    except UnicodeDecodeError:
        return ""
    return text if len(text) > 2 and text.isprintable() else ""
