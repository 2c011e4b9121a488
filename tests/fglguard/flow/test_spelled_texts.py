"""Searching texts together against searching each alone, by substring."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.flow.normalisation import Spellings, Value
from fglguard.flow.spelled_texts import SpelledTexts

PIECES = (
    "GB29 1600 1631",
    "gb291600-1631",
    "R0IyOTE2MDAxNjMx",
    "a (at) b (dot) de",
    "%41%42%43",
    "",
)
TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text("ab1-\n\u0430\u00e9 %4=", max_size=12)), max_size=8
)
VALUES = st.one_of(
    st.sampled_from(["gb2916001631", "a@b.de", "abc"]), st.text("ab1-\u0430\u00e9 ", max_size=6)
)


def hold_alone(text: str, value: Value) -> bool:
    one = Spellings(text)
    return (
        value.text in one.plain
        or value.folded in one.folded
        or (value.solid is not None and value.solid in one.solid)
    )


@given(TEXTS, TEXTS, VALUES)
def test_all_texts_that_hold_a_value_in_order(first, second, text) -> None:
    texts, value = SpelledTexts(), Value(text)
    for some in (first, second):
        texts.add(some)
        list(texts.holding(value))
    expected = [i for i, one in enumerate(first + second) if hold_alone(one, value)]
    places = list(texts.holding(value))
    assert places == sorted(places)
    assert list(dict.fromkeys(places)) == expected


def test_what_is_kept_moves_up() -> None:
    texts = SpelledTexts()
    texts.add(["alpha 1", "beta 2", "alpha 3"])
    texts.keep([1, 2])
    assert set(texts.holding(Value("alpha"))) == {1}


@pytest.mark.parametrize("value", ["ab", ""])
def test_without_texts_nothing_is_held(value) -> None:
    assert list(SpelledTexts().holding(Value(value))) == []
