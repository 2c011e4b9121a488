"""I(span) against its formula, worked out by hand on unit vectors."""

import numpy as np
import pytest

from fglguard.flow.instruction import instruction_likeness, prototypes
from fglguard.flow.phrases import INSTRUCTIONS, PLAIN, words

INSTRUCTION = np.array([[1, 0, 0]], np.float32)
ORDINARY = np.array([[0, 1, 0]], np.float32)


def likeness(spans, vectors):
    return instruction_likeness(
        spans, np.array(vectors, np.float32), INSTRUCTION, ORDINARY
    ).tolist()


def test_cosines_count_plain_ones_by_half() -> None:
    """0.6 - 0.5 * 0.8 = 0.2; a plain cosine below zero counts as none."""
    assert likeness(["quiet words"], [[0.6, 0.8, 0]]) == pytest.approx([0.2])
    assert likeness(["quiet words"], [[0.6, -0.8, 0]]) == pytest.approx([0.6])
    assert likeness(["quiet words"], [[-1, 0, 0]]) == [0]


def test_directive_phrases_add_a_quarter_each_up_to_three() -> None:
    """`Send` opens with a verb (1); `you must` and `immediately` are two more; a fourth is none."""
    assert likeness(["Send it"], [[0, 0, 1]]) == pytest.approx([0.25])
    assert likeness(["You must go immediately"], [[0, 0, 1]]) == pytest.approx([0.5])
    four = "Send it: you must, immediately, instead"
    assert likeness([four], [[0, 0, 1]]) == pytest.approx([0.75])


def test_a_span_shares_its_neighbours_likeness_by_four_fifths_and_no_further() -> None:
    vectors = [[0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 1]]
    assert likeness(["a", "b", "c", "d"], vectors) == pytest.approx([0, 0.8, 1, 0.8])


def test_no_spans_no_likeness_and_prototypes_are_instructions_then_plain() -> None:
    assert instruction_likeness([], np.zeros((0, 3), np.float32), INSTRUCTION, ORDINARY).size == 0
    assert prototypes() == INSTRUCTIONS + PLAIN


def test_words_are_split_at_underscores_and_capitals_without_stop_words() -> None:
    assert words("getUserName of the send_money_2 a") == {"get", "user", "name", "send", "money"}
