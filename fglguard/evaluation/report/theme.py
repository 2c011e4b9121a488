"""Colours of a report, for light and dark screens, by name.

A drawing is made in the light colours; `svg.inline_svg` then puts the CSS variable of that name in
their place. Series are told apart by dashes or shapes too, and were chosen to differ under the
common kinds of colour blindness (after Okabe and Ito 2008, darker on white, lighter on black).
"""

from collections.abc import Mapping
from types import MappingProxyType

THEME: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "page": ("#f6f7f9", "#14171c"),
        "surface": ("#fffffe", "#1d2128"),
        "text": ("#1b1f24", "#e8eaee"),
        "muted": ("#586069", "#a3abb6"),
        "grid": ("#dfe3e8", "#363c46"),
        "safe": ("#0072b1", "#5fb8ec"),
        "unsafe": ("#b84600", "#ff9450"),
        "series-1": ("#0072b2", "#56b4e9"),
        "series-2": ("#d05a00", "#ff9248"),
        "series-3": ("#007d5c", "#35cfa0"),
        "series-4": ("#a94498", "#e59bd4"),
        "series-5": ("#86690f", "#e6c229"),
        "series-6": ("#3b3f99", "#a5a9ff"),
        "series-7": ("#7d1d4f", "#f0809f"),
        "series-8": ("#4d4d4d", "#c4c4c4"),
    }
)
"""Name to (light, dark). The light ones differ pairwise, since they stand for the name."""

SERIES = tuple(name for name in THEME if name.startswith("series-"))
DASHES = ((), (6, 2.5), (1.5, 2), (7, 2, 1.5, 2))
"""On and off lengths in points; none for a solid line."""


def colour(name: str) -> str:
    """The light colour of that name, for drawing."""
    return THEME[name][0]


def series(number: int) -> tuple[str, tuple[float, ...]]:
    """Name of the colour and dashes of line number `number`; 32 pairs, then they repeat.

    Neighbours differ in both.
    """
    return SERIES[number % len(SERIES)], DASHES[(number + number // len(SERIES)) % len(DASHES)]


def stylesheet() -> str:
    """CSS variables of every colour: the light ones, and the dark ones where the screen is."""
    light, dark = (
        "".join(f"--{name}:{pair[side]};" for name, pair in THEME.items()) for side in (0, 1)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
