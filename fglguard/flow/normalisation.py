"""Spellings: a value written in other ways than plainly, brought back to one way.

What is compared is what a careful reader would take for the same value: compatibility characters
and look-alike letters are folded (Unicode NFKC, and the most frequent Latin look-alikes of Unicode
Technical Standard 39), invisible characters dropped, signs and numbers that are written out put
back, encodings undone, and separators within long identifiers passed over.
"""

import re
import unicodedata
from functools import cached_property

from fglguard.flow.encodings import decoded
from fglguard.flow.number_words import in_digits

LEAST_SOLID = 8
"""Letters and digits of a value that is looked for without separators too; fewer turn up anywhere.
"""

# Cyrillic and Greek letters that look like the Latin ones below them, in lower case.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0431\u0435\u0451\u043e\u0440\u0441\u0445\u0443\u0456\u0457\u0458\u0455\u0501\u051b"
    "\u04bb\u0432\u043a\u043c\u043d\u0442\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u03c5\u03c7"
    "\u0131\u0261",
    "abeeopcxyiijsdqhbkmhtaopviktuxig",
)
# Tag characters mirror ASCII and are drawn by no font, yet a language model reads them.
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_WRITTEN_AT = re.compile(r"\s{0,4}[(\[{]\s{0,4}at\s{0,4}[)\]}]\s{0,4}")
_WRITTEN_DOT = re.compile(r"\s{0,4}[(\[{]\s{0,4}dot\s{0,4}[)\]}]\s{0,4}")
# Only in full: "at" alone stands everywhere.
_SPOKEN = re.compile(r"(?<=\w)\s{1,4}at\s{1,4}([\w-]{1,63})\s{1,4}dot\s{1,4}(?=\w)")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_SEPARATORS = re.compile(r"[\W_]+")
_ASCII_SEPARATORS = {code: None for code in range(128) if not chr(code).isalnum()}
PLAIN_WORDS = re.compile(r"[^\W\d_]+(?:[\s,'-]+[^\W\d_]+)*")
"""Letters alone, in any number of words."""


def legible(text: str) -> str:
    """A text without invisible characters, those that mirror ASCII as what they mirror."""
    return text if text.isascii() else _INVISIBLE.sub("", text.translate(_TAGS))


def compatible(text: str) -> str:
    """Lower case, compatibility characters (NFKC) and the digits of all scripts in one spelling."""
    text = text.lower()
    if text.isascii():
        return text
    text = legible(unicodedata.normalize("NFKC", text)).lower()
    return _OTHER_DIGIT.sub(lambda one: str(unicodedata.decimal(one.group())), text)


def folded(text: str) -> str:
    """Lower case, in one spelling; of plain ASCII only the case and written-out signs change."""
    text = compatible(text)
    return signs_put_back(text if text.isascii() else text.translate(_LOOK_ALIKES))


def signs_put_back(text: str) -> str:
    """A text in lower case with the at signs and dots that are written out as signs."""
    # Most texts have neither, and looking for a word is much faster than for a pattern.
    if "at" in text and "dot" in text:
        text = _SPOKEN.sub(r"@\1.", _WRITTEN_DOT.sub(".", _WRITTEN_AT.sub("@", text)))
    return text


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
        distinct = len(characters) >= LEAST_SOLID and not PLAIN_WORDS.fullmatch(self.folded)
        self.solid = characters if distinct else None


class Spellings:
    """A text and how it reads in other spellings.

    Args:
        text: The text; it is normalised when first needed.
        encoded: Whether something may be encoded in it.
    """

    def __init__(self, text: str, encoded: bool = True) -> None:
        self._text = legible(text)
        self._encoded = encoded
        self.plain = self._text.lower()

    @cached_property
    def folded(self) -> str:
        """The text in one spelling; what is encoded in it; both with number words in digits."""
        inside = decoded(self._text) if self._encoded else []
        texts = [folded(one) for one in (self._text, *inside)]
        return " ".join([*texts, *(n for one in texts if (n := in_digits(one)) != one)])

    @cached_property
    def solid(self) -> str:
        """The same without separators."""
        return solid(self.folded)
