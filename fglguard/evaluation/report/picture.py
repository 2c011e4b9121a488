"""What a section of a report shows: a drawing, the key to it, and its numbers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Numbers for those who can't see a drawing or want them exactly.

    Attributes:
        columns: Heads; the first column names the row.
        rows: As they are shown.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class KeyEntry:
    """One line of a drawing's key.

    Attributes:
        label: What it stands for.
        colour: Name of its colour in the theme.
        shape: `line`, `box`, or a marker of `MARKERS`.
        dashes: On and off lengths of a line.
    """

    label: str
    colour: str
    shape: str = "line"
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Picture:
    """One drawing.

    Attributes:
        title: Its name, also what a screen reader says first.
        description: What it shows, in words.
        svg: The drawing, for the page as it is; empty where there is nothing to draw.
        key: What colours and shapes stand for.
        table: Its numbers.
    """

    title: str
    description: str
    svg: str = ""
    key: Sequence[KeyEntry] = ()
    table: Table | None = field(default=None)


MINUS = "\N{MINUS SIGN}"
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "X"}
"""Shapes of a key by matplotlib's name."""


def number(value: float | None, digits: int = 3) -> str:
    """A figure as a table shows it."""
    return "undefined" if value is None else f"{value:.{digits}f}"


def signed(value: float, digits: int = 3) -> str:
    """A change, always with its sign."""
    return f"{value:+.{digits}f}".replace("-", MINUS)
