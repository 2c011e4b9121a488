"""Numbers in words; expected ones are written by hand."""

import pytest

from fglguard.flow.number_words import BEYOND, TOO_LARGE, in_digits, in_words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (42, "forty-two"),
        (100, "one hundred"),
        (2_500, "two thousand five hundred"),
        (98_700, "ninety-eight thousand seven hundred"),
        (1_000_001, "one million one"),
        (310_000_450, "three hundred ten million four hundred fifty"),
    ],
)
def test_a_number_in_words_and_back(number, words) -> None:
    assert in_words(number) == words
    if " " in words or "-" in words:
        assert in_digits(f"pay {words} now") == f"pay {number} now"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("one two three", "123"),
        ("one, two, three", "123"),
        ("zero-zero-seven", "007"),
        ("twenty twenty-four", "2024"),
        ("twenty ten", "2010"),
        ("two hundred and five", "205"),
        ("a hundred and five", "a 105"),
        ("someone two-faced", "someone two-faced"),
        ("one of two", "one of two"),
        ("seventy", "seventy"),
        ("hundred hundred two", "10002"),
    ],
)
def test_runs_of_number_words(text, digits) -> None:
    assert in_digits(text) == digits


@pytest.mark.parametrize("word", ["hundred", "million", "one"])
def test_no_run_of_words_becomes_a_number_as_long_as_it(word) -> None:
    """Whoever writes a page may write such a run, and Python refuses to print numbers so long.

    Side by side, ones are no amount but as many digits.
    """
    found = in_digits(" ".join([word] * 5_000))
    assert len(found) == 5_000 if word == "one" else int(max(found.split(), key=len)) < BEYOND


@pytest.mark.parametrize("number", [-1, TOO_LARGE])
def test_a_number_without_words_is_named(number) -> None:
    with pytest.raises(ValueError, match=f"expected one from 0 below {TOO_LARGE}, got {number}"):
        in_words(number)
