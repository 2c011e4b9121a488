import pytest

from fglguard.errors import raised_at, suggestion

SETTINGS = ("seed", "federation.rounds", "federation.clients", "detector.rounds", "strategy.mu")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sead", "; did you mean seed?"),
        ("federation.round", "; did you mean federation.rounds?"),
        ("clients", "; did you mean federation.clients?"),
        ("rounds", "; did you mean federation.rounds or detector.rounds?"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_what_is_near_is_suggested(name, told):
    assert suggestion(name, SETTINGS) == told


def test_an_error_s_places_are_told_innermost_first_and_its_text_is_not():
    def inner():
        raise RuntimeError("private")

    assert raised_at(RuntimeError("never raised")) == "nowhere"
    try:
        inner()
    except RuntimeError as error:
        places = raised_at(error)
    first, second = places.split(" < ")
    assert first.startswith("test_errors.py:") and first.endswith(" in inner")
    assert second.endswith(
        " in test_an_error_s_places_are_told_innermost_first_and_its_text_is_not"
    )
