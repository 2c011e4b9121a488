"""What an agent was asked, said, called and heard, as hashed words and letters: sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode, Message

MESSAGE_CHARACTERS = 1_200
"""Of each message, the first so many count; of an agent's last one, LAST_CHARACTERS."""
LAST_CHARACTERS = 3_000
BLOCK_CHARACTERS = 20_000
BLOCKS = ("asked", "said", "called", "heard", "last")
LETTERS = 4
"""Letters of a letter sequence, which stays within a word."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Rows of a sparse matrix.

    Attributes:
        offsets: [n + 1] int64; row i has entries offsets[i] : offsets[i + 1].
        columns: [entries] int32.
        values: [entries] float32.
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]


def columns_of(word_bits: int, letter_bits: int) -> int:
    """Number of columns of `hashed_text`."""
    return len(BLOCKS) * sum(1 << bits for bits in (word_bits, letter_bits) if bits)


def hashed_text(
    episode: Episode, agents: Sequence[str], word_bits: int, letter_bits: int
) -> SparseRows:
    """One row for each node: of an agent five blocks of words and five of letter sequences.

    The blocks hold what users said, what the agent said, the calls it made, what tools and other
    agents told it, and its last message. A block holds v = sign(c) log(1 + |c|), scaled to unit
    length, of signed counts c hashed into 2^bits buckets (scikit-learn's `HashingVectorizer`,
    which needs no fitting: two sites that never talked give one text the same row). Who is no
    agent has an empty row.

    Args:
        episode: The episode.
        agents: Ids of the nodes, in their order.
        word_bits: Buckets of words; 0: no words.
        letter_bits: Buckets of letter sequences; 0: none.
    """
    kinds = episode.kinds
    places = [place for place, agent in enumerate(agents) if kinds[agent] == "agent"]
    texts = [text for place in places for text in _blocks(episode, agents[place])]
    parts = [
        _vectorize(texts, bits, analyzer)
        for bits, analyzer in ((word_bits, "word"), (letter_bits, "char_wb"))
        if bits
    ]
    return _rows(parts, places, len(agents))


def _blocks(episode: Episode, agent: str) -> list[str]:
    """The five texts of an agent."""
    kinds = episode.kinds
    asked = [m for m in episode.messages if kinds[m.sender] == "user"]
    own = [m for m in episode.messages if m.sender == agent]
    heard = [
        m
        for m in episode.messages
        if agent in m.receivers and m.sender != agent and kinds[m.sender] != "user"
    ]
    return [
        _joined(asked),
        _joined([m for m in own if m.kind != "call"]),
        _joined([m for m in own if m.kind == "call"]),
        _joined(heard),
        own[-1].text[:LAST_CHARACTERS] if own else "",
    ]


def _joined(messages: Sequence[Message]) -> str:
    return " ".join(m.text[:MESSAGE_CHARACTERS] for m in messages)[:BLOCK_CHARACTERS]


def _vectorize(texts: Sequence[str], bits: int, analyzer: str) -> Any:
    """A CSR matrix [texts / blocks, blocks * 2^bits]."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.preprocessing import normalize

    if not texts:
        return csr_matrix((0, len(BLOCKS) * 2**bits), dtype=np.float64)
    vectorizer = HashingVectorizer(
        n_features=2**bits,
        norm=None,
        alternate_sign=True,
        analyzer=analyzer,
        ngram_range=(1, 1) if analyzer == "word" else (LETTERS, LETTERS),
    )
    counts = vectorizer.transform(texts)
    counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    rows = normalize(counts).tocsr()
    return hstack([rows[block :: len(BLOCKS)] for block in range(len(BLOCKS))], format="csr")


def _rows(parts: Sequence[Any], places: Sequence[int], nodes: int) -> SparseRows:
    from scipy.sparse import hstack

    counts = np.zeros(nodes, dtype=np.int64)
    if not parts or not places:
        return SparseRows(
            np.zeros(nodes + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
        )
    matrix = hstack(parts, format="csr")
    matrix.sort_indices()
    counts[list(places)] = np.diff(matrix.indptr)
    return SparseRows(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        columns=matrix.indices.astype(np.int32),
        values=matrix.data.astype(np.float32),
    )
