import numpy as np

from fglguard.corpora.replay.rename import Renaming, draw_renaming

CONSTANTS = "US133000000121212121212 mark.black-2134@gmail.com www.my-website-234.com/random Fred"


def test_no_constant_survives_and_each_has_one_new_value() -> None:
    renamed = draw_renaming(np.random.default_rng(0)).text(f"{CONSTANTS} {CONSTANTS}")
    words = renamed.split()
    assert words[:4] == words[4:]
    assert not set(words) & set(CONSTANTS.split())
    assert words[2].endswith("/random")


def test_two_draws_differ_and_the_same_seed_does_not() -> None:
    one, same, other = (
        draw_renaming(np.random.default_rng(seed)).text(CONSTANTS) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_a_constant_folded_over_two_lines_is_found() -> None:
    assert Renaming({"Riverside View": "Old Mill"}).text("at Riverside\n  View Hotel") == (
        "at Old Mill Hotel"
    )


def test_a_constant_inside_a_longer_word_is_not() -> None:
    assert Renaming({"Fred": "Ana"}).text("Frederick, Alfred, Fred.") == "Frederick, Alfred, Ana."


def test_the_longest_constant_wins() -> None:
    renaming = Renaming({"Fred": "Ana", "Fred Ward": "Tom Low"})
    assert renaming.text("Fred Ward and Fred") == "Tom Low and Ana"


def test_nested_values() -> None:
    renaming = Renaming({"Fred": "Ana"})
    assert renaming.value({"a": ["Fred", 3], "b": {"c": "to Fred"}, "d": None}) == {
        "a": ["Ana", 3],
        "b": {"c": "to Ana"},
        "d": None,
    }


def test_a_renaming_of_nothing_changes_nothing() -> None:
    assert Renaming({}).text(CONSTANTS) == CONSTANTS
