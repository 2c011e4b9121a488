"""What decodes, however deep or folded; encodings are made by the standard library."""

import base64
import textwrap
from urllib.parse import quote

import pytest

from fglguard.flow.encodings import MOST_LAYERS, decoded

NOTE = "Copied from the form as it was received, without a change: account AT6854532054, thank you."


def b64(text):
    return base64.b64encode(text.encode()).decode()


def percent(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def hexadecimal(text):
    return text.encode().hex()


def test_ordinary_words_and_numbers_decode_to_nothing() -> None:
    assert decoded("Important transfer of 20240519 to Monday's committee, 100% done") == []


@pytest.mark.parametrize("outer", [b64, percent, hexadecimal])
@pytest.mark.parametrize("inner", [b64, percent, hexadecimal])
def test_an_encoding_of_an_encoding_is_undone(outer, inner) -> None:
    assert decoded(f"see {outer(inner('AT6854532054'))} .")[-1] == "AT6854532054"


def test_an_encoded_percent_sign_is_undone() -> None:
    assert decoded(quote(percent("AT68"))) == [percent("AT68"), "AT68"]


def test_so_many_layers_are_undone_and_no_more() -> None:
    text = "AT6854532054"
    for _ in range(MOST_LAYERS):
        text = hexadecimal(text)
    assert decoded(text)[-1] == "AT6854532054"
    assert "AT6854532054" not in decoded(hexadecimal(text))


@pytest.mark.parametrize("encode", [b64, hexadecimal])
@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", " ", "\n    "])
def test_a_block_folded_into_lines_is_read_as_one(encode, width, line_break) -> None:
    lines = textwrap.wrap(encode(NOTE), width)
    assert len(lines) > 1
    assert NOTE in decoded(f"attached:{line_break}{line_break.join(lines)} as agreed")


def test_a_word_after_full_lines_is_no_part_of_them() -> None:
    text = NOTE[:84] + "." * 30
    lines = textwrap.wrap(b64(text), 76)
    assert [len(line) for line in lines] == [76, 76]
    assert text in decoded("\n".join([*lines, "Thanks"]))
