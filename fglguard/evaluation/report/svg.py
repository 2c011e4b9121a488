"""From a matplotlib figure to SVG that stands in a page and follows its colours."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from fglguard.errors import ReportError
from fglguard.evaluation.report.theme import THEME, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 4.4
"""Inches: narrow, so that the text of a drawing can be read on a small screen."""
FONT_POINTS = 9.0
LONGEST_NAME = 22

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NAMES = {pair[0]: name for name, pair in THEME.items()}
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@contextmanager
def figure(height: float) -> Iterator["Figure"]:
    """A figure in the theme's light colours, with text as text and names taken literally.

    Args:
        height: In inches.

    Raises:
        ReportError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ReportError(
            f"a report is drawn with matplotlib ({error}): pip install 'fglguard[report]'"
        ) from error
    with mpl.rc_context(_style()), warnings.catch_warnings():
        # A name's letters that the font lacks: the browser draws the text, and has others.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure(figsize=(WIDTH, height))


def _style() -> Any:
    text, muted = colour("text"), colour("muted")
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "fglguard",
        "text.parse_math": False,
        "font.size": FONT_POINTS,
        "font.family": ["DejaVu Sans"],
        "text.color": text,
        "axes.labelcolor": text,
        "axes.edgecolor": muted,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": colour("grid"),
        "grid.linewidth": 0.7,
        "xtick.color": muted,
        "ytick.color": muted,
        "xtick.labelcolor": text,
        "ytick.labelcolor": text,
        "figure.facecolor": "none",
    }


def place_axes(drawn: "Figure", *, names: Sequence[str] = ()) -> "Axes":
    """Axes with room for tick labels: those of the y axis are numbers, or the names given.

    Set by hand: matplotlib's layout engines would draw every figure twice.

    Args:
        drawn: The figure.
        names: The y axis' names, as they are shown.
    """
    width, height = drawn.get_size_inches()
    letter = 0.62 * FONT_POINTS / 72
    left = 0.12 + letter * max(map(len, names)) if names else 0.58
    bottom, top, right = 0.47, 0.12, 0.22
    axes: Axes = drawn.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    )
    return axes


def inline_svg(drawn: "Figure", identity: str, title: str, description: str) -> str:
    """Render a figure as an `svg` element with a title and a description.

    Colours of the theme become CSS variables, ids are made unique in the page, and the size is
    left to the page.

    Args:
        drawn: The figure, made within `figure`.
        identity: Prefix of every id in it; must be unique in the page.
        title: What a screen reader says first.
        description: What it says then.
    """
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(buffer.getvalue())
    _clean(root)
    _rename(root, identity)
    root.set("role", "img")
    root.set("aria-labelledby", f"{identity}-title {identity}-desc")
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{identity}-{tag}"})
        element.text = printable(text)
        root.insert(place, element)
    return ElementTree.tostring(root, encoding="unicode")


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """A name as a drawing shows it: printable, cut where it is long."""
    name = printable(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def printable(text: str) -> str:
    """Without what XML can't hold, such as control characters; line breaks become spaces."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def _clean(root: ElementTree.Element) -> None:
    """Drop what the page does not need, styles for the whole page among it."""
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    unwanted = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in unwanted]:
            parent.remove(child)
    for element in root.iter():
        element.tail = None
        if element.tag != f"{{{_SVG}}}text":
            element.text = None
        for key in ("d", "x", "y", "transform"):
            if key in element.attrib:
                element.set(key, _LONG_NUMBER.sub(r"\1", " ".join(element.attrib[key].split())))


def _rename(root: ElementTree.Element, identity: str) -> None:
    """Put variables for colours, and keep only ids that something refers to, prefixed."""
    href = f"{{{_XLINK}}}href"
    used = {
        element.attrib[href].removeprefix("#") for element in root.iter() if href in element.attrib
    }
    for element in root.iter():
        used.update(found for v in element.attrib.values() for found in _REFERENCE.findall(v))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", f"{identity}-{name}")
        if href in element.attrib:
            element.set("href", f"#{identity}-{element.attrib.pop(href).removeprefix('#')}")
        for key, value in list(element.attrib.items()):
            element.set(key, _REFERENCE.sub(rf"url(#{identity}-\1)", value))
        if "style" in element.attrib:
            element.set("style", _COLOUR.sub(_variable, element.attrib["style"]))


def _variable(found: re.Match[str]) -> str:
    name = _NAMES.get(found.group())
    return f"var(--{name})" if name else found.group()
