"""Spans of about a sentence; expected cuts are read off the rule in the docstring by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fglguard.episode_rules import MAX_TEXT_BYTES
from fglguard.flow.authorised import Authorised
from fglguard.flow.normalisation import Value
from fglguard.flow.spans import (
    LEAST_CHARACTERS,
    MOST_CHARACTERS,
    MOST_SPANS,
    chosen,
    plain_text,
    spans,
    tags_by_span,
)
from fglguard.flow.spelled_texts import SpelledTexts
from fglguard.flow.values import TEXT_CHARACTERS, values


def test_tags_and_escaped_newlines_are_blanks() -> None:
    page = "<div class='a'>Pay <b>now</b>!</div>\\n a < b\n\tend"
    assert plain_text(page) == "Pay now ! a < b end"


def test_what_a_page_hides_from_people_stays() -> None:
    """Comments, scripts and attributes of three words and more; names of classes go."""
    page = '<!-- send it --><script>pay(1)</script><a class="b c" title="send all of it">x</a>'
    assert plain_text(page) == "send it pay(1) send all of it x"


def test_short_sentences_are_merged_and_long_ones_start_anew() -> None:
    long = "This sentence is long enough to stand for itself, " + "word " * 16 + "end."
    assert len(long) >= LEAST_CHARACTERS
    assert spans(f"One. Two! Three? {long} Four.") == ["One. Two! Three?", long, "Four."]


def test_brackets_and_bars_end_a_span() -> None:
    record = "{'a': '" + "x" * 118 + "'}"
    assert spans(f"{record}{record} | tail") == [record, record, "tail"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=3000))
def test_spans_hold_every_letter_of_the_text_in_order_and_stay_short(text: str) -> None:
    """Cutting drops blanks and column bars alone; commas go where they part quoted items."""
    found = spans(plain_text(text))
    kept = [c for c in plain_text(text) if c.isalnum()]
    assert [c for span in found for c in span if c.isalnum()] == kept
    assert all(len(span) <= MOST_CHARACTERS for span in found)


def test_too_many_spans_are_thinned_evenly_but_none_that_directs() -> None:
    """Of nine, five stay: by even steps both ends and every second; else what directs comes first.

    With two that direct, three of the other seven stay: the first, the middle one and the last.
    """
    plain = [str(i) for i in range(9)]
    assert chosen(plain, most=5) == ["0", "2", "4", "6", "8"]
    assert chosen(["a", "b"], most=5) == ["a", "b"]
    for place in (1, 3):
        plain[place] = f"you must {place}"
    assert chosen(plain, most=5) == ["0", "you must 1", "you must 3", "5", "8"]
    assert chosen(["you must"] * 9, most=5) == ["you must"] * 5


def test_a_tag_belongs_to_the_span_that_it_stands_behind() -> None:
    """By hand: each link behind its own sentence, the first tag behind none."""
    sentences = [
        f"Sentence {n} tells of the weather in the month of May, at {n * 60}." for n in "abc"
    ]
    text = "<p>" + " ".join(
        f'{one} <a href="https://{n}.example">' for n, one in zip("abc", sentences, strict=True)
    )
    found = spans(plain_text(text))
    assert len(found) == 3
    tags = tags_by_span(text, found)
    assert tags[None] == "<p>"
    assert [tags[place] for place in range(3)] == [f'<a href="https://{n}.example">' for n in "abc"]
    assert tags_by_span("no tag here", ["no tag here"]) == {}


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!--",
        "<script>",
        "</a",
        "a ",
        "{}",
        "'",
        " ,",
        "#a-",
        "a-",
        "/a",
        "1.",
        "a@",
        "at(",
        "1 ",
        "11-22 ",
        "hundred ",
        "one ",
        "&#64;",
        "\\u0040",
        "%41a",
        '"',
        '\\"',
        "a at b dot ",
        "\u738ba",
        "1001,1002,",
    ],
)
def test_hostile_repetitions_are_cut_in_bounded_work(piece: str) -> None:
    """Half a megabyte of each, the longest message there is; a quadratic search would not end."""
    text = (piece * MAX_TEXT_BYTES)[:MAX_TEXT_BYTES]
    assert len(chosen(spans(plain_text(text)))) <= MOST_SPANS
    tags_by_span(text, spans(plain_text(text)))
    assert len(values(text, call=True)) <= TEXT_CHARACTERS
    assert len(values(f"run {{{text}", call=True)) <= TEXT_CHARACTERS
    texts = SpelledTexts()
    texts.add([text])
    list(texts.holding(Value("gb29160016319268")))
    said = Authorised(text)
    assert not any(value in said for value in ("gb29160016319268", "a@b.example", "11-22-33-44-5"))
