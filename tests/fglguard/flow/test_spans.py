"""Spans of about a sentence; expected cuts are read off the rule in the docstring by hand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fglguard.flow.spans import LEAST_CHARACTERS, MOST_CHARACTERS, plain_text, spans, spread


def test_markup_and_escaped_newlines_are_blanks() -> None:
    page = "<div class='a'>Pay <b>now</b>!</div>\\n<script>var x = 1 < 2;</script> a < b\n\tend"
    assert plain_text(page) == "Pay now ! a < b end"


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


def test_too_many_items_are_thinned_evenly_with_both_ends_kept() -> None:
    assert spread([str(i) for i in range(9)], most=5) == ["0", "2", "4", "6", "8"]
    assert spread(["a", "b"], most=5) == ["a", "b"]
