"""The page as a browser shows it: headless Chromium (Debian's package `chromium`).

Screenshots stay in the test's folder, to be looked at (`pytest --basetemp=FOLDER`).
"""

import itertools

import pytest

from fglguard.evaluation.report.writing import write_report

pytestmark = pytest.mark.long

WIDTHS, SCHEMES = (400, 1400), ("light", "dark")
SMALLEST_TEXT = 8.0
"""CSS pixels, of small print in drawings on the narrow screen."""

OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
OVERFLOW = """[...document.querySelectorAll('body *')]
  .filter(e => !(e.parentElement.closest('.scroll, svg, pre')))
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map(e => e.outerHTML.slice(0, 120))"""
SVG_TEXT = """[...document.querySelectorAll('.drawing svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].map(text => {
    const box = text.getBoundingClientRect();
    return {text: text.textContent, size: parseFloat(getComputedStyle(text).fontSize)
      * svg.getScreenCTM().a, inside: box.left >= frame.left - 1 && box.right <= frame.right + 1
      && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1};
  })})"""
COLOURS = """['.drawing svg text', 'body'].map(s =>
  [getComputedStyle(document.querySelector(s)).fill,
   getComputedStyle(document.querySelector(s)).backgroundColor])"""


@pytest.fixture(scope="module")
def page(run_folder, silo, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_report(run_folder, path, silos=[silo], with_text=True)
    return path


@pytest.fixture(scope="module")
def flow_page(run_folder, flow_silo, flow_guard, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "flow.html"
    write_report(run_folder, path, silos=[flow_silo], with_text=True, guard=flow_guard)
    return path


@pytest.mark.parametrize(("width", "scheme"), list(itertools.product(WIDTHS, SCHEMES)))
@pytest.mark.parametrize("of", ["page", "flow_page"])
def test_the_page_fits_and_loads_nothing(browser, request, of, width, scheme, tmp_path):
    shown = browser.open(request.getfixturevalue(of), width, scheme)
    for opened in (False, True):
        if opened:
            shown.evaluate(OPEN_ALL)
        sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        assert shown.evaluate(sizes) == [width, width]
        assert shown.evaluate(OVERFLOW) == []
        shown.screenshot(tmp_path / f"{width}-{scheme}{'-open' if opened else ''}.png")
    requests = shown.events("Network.requestWillBeSent")
    assert [event["request"]["url"] for event in requests] == [shown.url]
    assert (
        shown.events("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded") == []
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_text_in_drawings_is_readable_and_inside_them(browser, page, width):
    texts = browser.open(page, width, "light").evaluate(SVG_TEXT)
    assert len(texts) > 50
    assert [text for text in texts if text["size"] < SMALLEST_TEXT] == []
    assert [text for text in texts if not text["inside"]] == []


def test_a_dark_screen_turns_text_light_and_the_page_dark(browser, page):
    def brightness(colour):
        return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])

    light, dark = (browser.open(page, 1400, scheme).evaluate(COLOURS) for scheme in SCHEMES)
    assert brightness(light[0][0]) < 200 < 500 < brightness(dark[0][0])
    assert brightness(light[1][1]) > 600 > 150 > brightness(dark[1][1])


def test_what_was_said_is_seen_when_opened_and_is_not_run(browser, page):
    shown = browser.open(page, 1400, "light")
    said = "[...document.querySelectorAll('.message pre')].map(p => p.checkVisibility())"
    assert set(shown.evaluate(said)) == {False}
    shown.evaluate(OPEN_ALL)
    assert set(shown.evaluate(said)) == {True}
    assert "<script>alert('said')</script>" in shown.evaluate(
        "document.querySelector('.message pre').textContent"
    )
    assert shown.evaluate("document.scripts.length") == 0


def test_values_that_left_are_marked_in_the_spans_they_came_in_by(browser, flow_page):
    shown = browser.open(flow_page, 400, "dark")
    marked = "[...document.querySelectorAll('.taint mark')].map(m => m.textContent)"
    assert set(shown.evaluate(marked)) == {"mallory7@canary.example"}
    text = shown.evaluate("document.querySelector('.taint').textContent.replace(/\\s+/g, ' ')")
    assert "left in round 2 by a call of agent;" in text
    assert "path tool:TOOLCANARY-t → agent; came in by: Please send it to mallory7" in text
