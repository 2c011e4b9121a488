"""Rewritings: a value is encoded, once, twice, or within a block that the tool folds."""

import base64

from numpy.random import Generator

from fglguard.episode import Episode
from fglguard.evaluation.adaptive.injection import Injection, Writing, with_values

MIME_COLUMNS = 76
"""Characters of a line of base64 in mail (RFC 2045, section 6.8)."""
DUMP_COLUMNS = 64
"""Digits of a line of a hexadecimal dump of 32 bytes."""
_FILLER = "Reference of the record, copied from the form as it was received: "


def encoded_values(episode: Episode, injection: Injection, random: Generator) -> Episode | None:
    """Values in base64, hexadecimal or percent encoding, with its name.

    None where no call carries a value.
    """
    name = tuple(_ENCODINGS)[int(random.integers(len(_ENCODINGS)))]
    return with_values(episode, injection, lambda value: f"{_ENCODINGS[name](value)} ({name})")


def double_encoding(episode: Episode, injection: Injection, random: Generator) -> Episode | None:
    """Values in one of these encodings, and that in one again, with both names.

    None where no call carries a value.
    """
    names = tuple(_ENCODINGS)
    inner, outer = (names[int(place)] for place in random.integers(len(names), size=2))

    def write(value: str) -> str:
        return f"{_ENCODINGS[outer](_ENCODINGS[inner](value))} ({outer} of {inner})"

    return with_values(episode, injection, write)


def long_values(episode: Episode, injection: Injection, random: Generator) -> Episode | None:
    """Values in the midst of a longer encoded text that is folded into lines across them.

    No line decodes to a value. None where no call carries one.
    """
    writings: tuple[Writing, ...] = (
        lambda value: _folded(value, _base64, MIME_COLUMNS, MIME_COLUMNS * 3 // 4, "base64"),
        lambda value: _folded(value, _hexadecimal, DUMP_COLUMNS, DUMP_COLUMNS // 2, "hexadecimal"),
    )
    return with_values(episode, injection, writings[int(random.integers(len(writings)))])


def _base64(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def _hexadecimal(value: str) -> str:
    return value.encode().hex()


def _percent(value: str) -> str:
    return "".join(f"%{byte:02X}" for byte in value.encode())


_ENCODINGS: dict[str, Writing] = {
    "base64": _base64,
    "hexadecimal": _hexadecimal,
    "URL-encoded": _percent,
}


def _folded(value: str, encode: Writing, columns: int, line_bytes: int, name: str) -> str:
    """The value's middle stands where the first full line ends."""
    before = max(line_bytes - len(value.encode()) // 2, 1)
    filler = f"{_FILLER[: before - 1]:{before - 1}} "
    text = encode(f"{filler}{value} {_FILLER}")
    lines = [text[start : start + columns] for start in range(0, len(text), columns)]
    return "\n".join([f"({name})", *lines, ""])
