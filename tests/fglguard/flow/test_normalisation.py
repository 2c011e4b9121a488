"""One value in many spellings; encodings are made by the standard library."""

import base64
from urllib.parse import quote

import pytest

from fglguard.flow.normalisation import Spellings, Value, decoded, folded

ACCOUNT = "at6854532054"


@pytest.mark.parametrize(
    "text",
    [
        "pay AT6854532054 now",
        "pay AT68 5453 2054 now",
        "pay AT68-5453-2054 now",
        "pay AT68\u200b5453\u200b2054 now",
        "pay \uff21\uff346854532054 now",  # full width
        "pay \u0410\u04226854532054 now",  # Cyrillic A and Te
        "pay \u0391\u03a46854532054 now",  # Greek Alpha and Tau
        f"pay {base64.b64encode(b'AT6854532054').decode()} now",
        f"pay {base64.urlsafe_b64encode(b'AT6854532054??>').decode()} now",
        f"pay {b'AT6854532054'.hex()} now",
        "pay %41%54%36%38%35%34%35%33%32%30%35%34 now",
    ],
)
def test_an_account_is_found_in_any_spelling(text) -> None:
    assert Spellings(text).hold(Value(ACCOUNT))


@pytest.mark.parametrize(
    "text", ["eve.long (at) mail (dot) example", "eve.long [AT] mail.example {dot}", quote("x e@x")]
)
def test_written_out_signs(text) -> None:
    assert Spellings(text).hold(Value("eve.long@mail.example")) == ("eve.long" in text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ACCOUNT, "pay AT6854532055 now"),
        ("905.0", "9 of 050 files"),  # too short to pass over separators
        ("therapist", "the rapist"),  # plain words are not run together
        ("day off", "dayoff"),
        ("report", "the important transfer of December"),
    ],
)
def test_other_values_are_not_found(value, text) -> None:
    assert not Spellings(text).hold(Value(value))


def test_ordinary_words_and_numbers_decode_to_nothing() -> None:
    assert decoded("Important transfer of 20240519 to Monday's committee, 100% done") == []


def test_plain_text_only_changes_case() -> None:
    assert folded("Send It To A.B@C.de, at noon") == "send it to a.b@c.de, at noon"
