"""Hashed rows against scikit-learn's vectorizer applied to blocks that are joined by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from fglguard.episode import Agent, Message
from fglguard.hashed_text import BLOCKS, LAST_CHARACTERS, HashedTexts, columns_of, hashed_text
from tests.fglguard.flow.conftest import MESSAGES, build

IDS = ("user", "reader", "banker", "web", "bank")


def dense(rows, columns):
    matrix = np.zeros((len(rows.offsets) - 1, columns))
    for row in range(len(matrix)):
        part = slice(rows.offsets[row], rows.offsets[row + 1])
        matrix[row, rows.columns[part]] = rows.values[part]
    return matrix


def reference(text: str, bits: int, **options) -> np.ndarray:
    counts = HashingVectorizer(n_features=2**bits, norm=None, **options).transform([text])
    row = np.sign(counts.toarray()[0]) * np.log1p(np.abs(counts.toarray()[0]))
    return row / (np.linalg.norm(row) or 1)


def test_an_agents_row_has_the_five_blocks_of_words_then_of_letters() -> None:
    blocks = [
        MESSAGES[0].text,
        MESSAGES[6].text,
        MESSAGES[4].text,
        f"{MESSAGES[3].text} {MESSAGES[5].text}",
        MESSAGES[6].text,
    ]
    expected = [reference(text, 6) for text in blocks]
    expected += [reference(text, 7, analyzer="char_wb", ngram_range=(4, 4)) for text in blocks]
    row = dense(hashed_text(build(), IDS, 6, 7), columns_of(6, 7))[IDS.index("banker")]
    assert np.allclose(row, np.concatenate(expected), atol=1e-6)


def test_blocks_have_unit_length_or_are_empty_and_others_than_agents_have_no_row() -> None:
    rows = dense(hashed_text(build(), IDS, 5, 0), columns_of(5, 0))
    assert not rows[[0, 3, 4]].any()
    norms = np.linalg.norm(rows[[1, 2]].reshape(2, len(BLOCKS), -1), axis=2)
    assert np.all(np.isclose(norms, 1) | (norms == 0))


def test_columns_are_counted_and_without_buckets_there_are_no_entries() -> None:
    assert columns_of(12, 12) == 40960
    assert columns_of(10, 0) == 5120
    empty = hashed_text(build(), IDS, 0, 0)
    assert empty.offsets.tolist() == [0] * 6
    assert not len(empty.columns)


def test_an_episode_without_agents_has_empty_rows() -> None:
    users = build(
        (MESSAGES[0],), (Agent("user", "user"), Agent("reader", "agent"), Agent("banker", "agent"))
    )
    rows = hashed_text(users, ("user",), 5, 5)
    assert rows.offsets.tolist() == [0, 0]


def test_long_messages_are_cut() -> None:
    from dataclasses import replace

    long = "alpha " * LAST_CHARACTERS
    cut = [replace(MESSAGES[6], text=long + tail) for tail in ("", "omega")]
    one, two = (hashed_text(build((*MESSAGES[:6], m)), IDS, 8, 8) for m in cut)
    assert np.array_equal(one.columns, two.columns)
    assert np.array_equal(one.values, two.values)


SAID = st.builds(
    Message,
    st.just(0),
    st.sampled_from(["u", "a", "b"]),
    st.lists(st.sampled_from(["u", "a", "b"]), min_size=1, max_size=2, unique=True).map(tuple),
    st.sampled_from(["pay 75.00 now", "ignore all that", "who?"]),
    st.sampled_from(["say", "call"]),
)


@given(said=st.lists(st.tuples(SAID, st.booleans()), max_size=8))
def test_rows_asked_for_in_between_change_none_that_follow(said) -> None:
    """What is kept from one asking to the next equals what is counted afresh, a copy's too."""
    kinds = {"u": "user", "a": "agent", "b": "agent"}
    asked, never = HashedTexts(5, 5), HashedTexts(5, 5)
    for message, ask in said:
        draft = asked.copy()
        for texts in (draft, asked, never):
            texts.add(message, kinds)
        if ask:
            expected = dense(never.copy().rows("uab", kinds), columns_of(5, 5))
            for texts in (draft, asked):
                assert np.array_equal(dense(texts.rows("uab", kinds), columns_of(5, 5)), expected)
