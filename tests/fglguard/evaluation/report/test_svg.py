import re
from xml.etree import ElementTree

import pytest

from fglguard.evaluation.report.svg import (
    LONGEST_NAME,
    figure,
    inline_svg,
    place_axes,
    printable,
    short,
)
from fglguard.evaluation.report.theme import THEME, colour

NAME = "<b>&amp;</b> $\\frac{1}{2}$ \x00\u0301 中"


def drawing(identity="one", name=NAME):
    with figure(2.0) as drawn:
        axes = place_axes(drawn, names=[name])
        axes.plot([0, 1], [0, 1], color=colour("series-1"), marker="o", label="_x")
        axes.fill_between([0, 1], [0, 0], [1, 1], color=colour("unsafe"), alpha=0.5)
        axes.set_yticks([0, 1], [short(name), "y"])
        return inline_svg(drawn, identity, name, "it says <so>")


def test_names_are_text_as_they_are_and_the_svg_is_well_formed():
    root = ElementTree.fromstring(drawing())
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert short(NAME) in texts
    assert root.find("{*}title").text == printable(NAME)
    assert root.find("{*}desc").text == "it says <so>"


def test_every_colour_is_a_variable_of_the_theme():
    svg = drawing()
    assert not re.findall(
        r"#[0-9a-f]{6}\b(?![0-9a-f])", re.sub(r"(url\(|href=\")#[^)\"]*", "", svg)
    )
    names = set(re.findall(r"var\(--([a-z0-9-]+)\)", svg))
    assert {"series-1", "unsafe", "text", "muted"} <= names <= set(THEME)


def test_ids_are_prefixed_referred_to_and_unique_over_two_drawings():
    page = drawing("one") + drawing("two")
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert all(name.startswith(("one-", "two-")) for name in ids)
    referred = re.findall(r"(?:url\(|href=\")#([^)\"]*)", page)
    assert referred and set(referred) <= set(ids)


def test_the_size_is_left_to_the_page_and_no_style_reaches_beyond_the_drawing():
    svg = drawing()
    head = svg[: svg.index(">")]
    assert "viewBox=" in head and " width=" not in head and " height=" not in head
    assert "<style" not in svg and "metadata" not in svg


def test_the_same_figure_gives_the_same_bytes():
    assert drawing() == drawing()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x00b\nc", "a\N{REPLACEMENT CHARACTER}b c"),
        ("x" * (LONGEST_NAME + 1), "x" * (LONGEST_NAME - 1) + "…"),
        ("x" * LONGEST_NAME, "x" * LONGEST_NAME),
    ],
)
def test_short_names(name, shown):
    assert short(name) == shown
