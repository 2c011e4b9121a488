"""Spellings: a value written in other ways than plainly, brought back to one way.

What is compared is what a careful reader would take for the same value: compatibility characters
and look-alike letters are folded (Unicode NFKC, and the most frequent Latin look-alikes of Unicode
Technical Standard 39), invisible characters dropped, signs that are written out put back, encodings
undone, and separators within long identifiers passed over.
"""

import base64
import binascii
import re
import unicodedata
from functools import cached_property
from urllib.parse import unquote

LEAST_SOLID = 8
"""Letters and digits of a value that is looked for without separators too; fewer turn up anywhere.
"""
LEAST_ENCODED = 8
"""Characters of a word that may be base64 or hexadecimal."""

# Cyrillic and Greek letters that look like the Latin ones below them, in lower case.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0431\u0435\u0451\u043e\u0440\u0441\u0445\u0443\u0456\u0457\u0458\u0455\u0501\u051b"
    "\u04bb\u0432\u043a\u043c\u043d\u0442\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u03c5\u03c7"
    "\u0131\u0261",
    "abeeopcxyiijsdqhbkmhtaopviktuxig",
)
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_WRITTEN_AT = re.compile(r"\s{0,4}[(\[{]\s{0,4}at\s{0,4}[)\]}]\s{0,4}")
_WRITTEN_DOT = re.compile(r"\s{0,4}[(\[{]\s{0,4}dot\s{0,4}[)\]}]\s{0,4}")
_SEPARATORS = re.compile(r"[\W_]+")
_ASCII_SEPARATORS = {code: None for code in range(128) if not chr(code).isalnum()}
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){2,}")
_HEXADECIMAL = re.compile(rf"\b(?:[0-9a-fA-F]{{2}}){{{LEAST_ENCODED // 2},}}\b")
# Words in small letters, with a capital at most, are taken for words.
_BASE64 = re.compile(
    rf"(?<![A-Za-z0-9+/=_-])(?=.[a-z/_-]*[A-Z0-9+])[A-Za-z0-9+/_-]{{{LEAST_ENCODED},}}={{0,2}}"
)

_URL_SAFE = str.maketrans("+/", "-_")
_WORDS = re.compile(r"[^\W\d_]+(?:[\s,'-]+[^\W\d_]+)*")


def folded(text: str) -> str:
    """Lower case, in one spelling; of plain ASCII only the case and written-out signs change."""
    text = text.lower()
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text).lower())
        text = text.translate(_LOOK_ALIKES)
    # Most texts have neither sign, and looking for a word is much faster than for a pattern.
    if "at" in text and "dot" in text:
        text = _WRITTEN_DOT.sub(".", _WRITTEN_AT.sub("@", text))
    return text


def decoded(text: str) -> list[str]:
    """What is encoded in a text and decodes to printable text: percent, hexadecimal, base64."""
    found = []
    if "%" in text:
        found += [unquote(match.group()) for match in _PERCENT.finditer(text)]
    found += [_readable(_unhex(match.group())) for match in _HEXADECIMAL.finditer(text)]
    found += [_readable(_unbase64(match.group())) for match in _BASE64.finditer(text)]
    return [one for one in found if one]


def solid(text: str) -> str:
    """A folded text's letters and digits alone."""
    return text.translate(_ASCII_SEPARATORS) if text.isascii() else _SEPARATORS.sub("", text)


class Value:
    """A value that is looked for.

    Args:
        text: In lower case.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = folded(text)
        characters = solid(self.folded)
        # Plain words run together would be found across sentences; identifiers are not.
        distinct = len(characters) >= LEAST_SOLID and not _WORDS.fullmatch(self.folded)
        self.solid = characters if distinct else None


class Spellings:
    """A text and how it reads in other spellings.

    Args:
        text: The text; it is normalised when first needed.
        encoded: Whether something may be encoded in it.
    """

    def __init__(self, text: str, encoded: bool = True) -> None:
        self._text = text
        self._encoded = encoded
        self.plain = text.lower()

    def name(self, value: Value) -> bool:
        """Whether the text names a value as such, not as a part of a longer word or number."""
        return (
            _stands_alone(value.text, self.plain)
            or _stands_alone(value.folded, self.folded)
            or (value.solid is not None and value.solid in self.solid)
        )

    @cached_property
    def folded(self) -> str:
        """The text in one spelling, and after it what is encoded in it."""
        inside = decoded(self._text) if self._encoded else []
        return " ".join([folded(self._text), *map(folded, inside)])

    @cached_property
    def solid(self) -> str:
        """The same without separators."""
        return solid(self.folded)


def _stands_alone(value: str, text: str) -> bool:
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if not (_in_word(text[at - 1 : at]) or _in_word(text[end : end + 1])):
            return True
        at = text.find(value, at + 1)
    return False


def _in_word(character: str) -> bool:
    r"""Whether a character, or none, is what a regular expression calls `\w`."""
    return character.isalnum() or character == "_"


def _unhex(word: str) -> bytes:
    return bytes.fromhex(word)


def _unbase64(word: str) -> bytes:
    word = word.rstrip("=").translate(_URL_SAFE)
    try:
        return base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
    except (binascii.Error, ValueError):
        return b""


def _readable(content: bytes) -> str:
    """The text, or nothing where it is none."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return text if len(text) > 2 and text.isprintable() else ""
