"""What an agent was asked, said, called and heard, as hashed words and letters: sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode, Message

TEXT_FORMAT = 1
"""Raise it when the same episode would give other rows."""

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
    entries = []
    first = 0
    for bits, analyzer in ((word_bits, "word"), (letter_bits, "char_wb")):
        if bits and texts:
            entries.append(_entries(texts, bits, analyzer, first))
            first += len(BLOCKS) << bits
    return _sparse_rows(entries, places, len(agents))


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


@lru_cache(maxsize=8)
def _vectorizer(bits: int, analyzer: str) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        n_features=2**bits,
        norm=None,
        alternate_sign=True,
        analyzer=analyzer,
        ngram_range=(1, 1) if analyzer == "word" else (LETTERS, LETTERS),
    )


Entries = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Agent, column and value of each entry."""


def _entries(texts: Sequence[str], bits: int, analyzer: str, first: int) -> Entries:
    """Entries of agents' blocks, len(BLOCKS) texts an agent, in columns from `first` on."""
    counts = _vectorizer(bits, analyzer).transform(texts)
    text = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
    values = np.sign(counts.data) * np.log1p(np.abs(counts.data))
    lengths = np.sqrt(np.bincount(text, values**2, len(texts)))
    agent, block = np.divmod(text, len(BLOCKS))
    kept = values != 0
    columns = first + (block << bits) + counts.indices
    return agent[kept], columns[kept], (values / lengths[text])[kept]


def _sparse_rows(entries: Sequence[Entries], places: Sequence[int], nodes: int) -> SparseRows:
    if not entries:
        return SparseRows(
            np.zeros(nodes + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
        )
    agent, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    order = np.lexsort((columns, agent))
    counts = np.bincount(np.asarray(places)[agent], minlength=nodes)
    return SparseRows(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        columns=columns[order].astype(np.int32),
        values=values[order].astype(np.float32),
    )
