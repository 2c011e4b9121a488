"""What an agent was asked, said, called and heard, as hashed words and letters: sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode, Message
from fglguard.hashed_tokens import Analyzer, bucket_counts

TEXT_FORMAT = 1
"""Raise it when the same episode would give other rows."""

MESSAGE_CHARACTERS = 1_200
"""Of each message, the first so many count; of an agent's last one, LAST_CHARACTERS."""
LAST_CHARACTERS = 3_000
BLOCK_CHARACTERS = 20_000
BLOCKS = ("asked", "said", "called", "heard", "last")

Entries = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Columns and values of some entries of a row."""
_NONE: Entries = (np.zeros(0, np.int64), np.zeros(0))


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
    length, of signed counts c hashed into 2^bits buckets (`bucket_counts`, which needs no fitting:
    two sites that never talked give one text the same row). Who is no agent has an empty row.

    Args:
        episode: The episode.
        agents: Ids of the nodes, in their order.
        word_bits: Buckets of words; 0: no words.
        letter_bits: Buckets of letter sequences; 0: none.
    """
    kinds = episode.kinds
    places = [place for place, agent in enumerate(agents) if kinds[agent] == "agent"]
    texts = [text for place in places for text in _blocks(episode, agents[place])]
    rows = _Rows(texts)
    if word_bits:
        rows.add(word_bits, "word")
    if letter_bits:
        rows.add(letter_bits, "char_wb")
    return rows.of(places, len(agents))


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


class _Rows:
    """Collects agents' rows.

    Args:
        texts: Agents' blocks, len(BLOCKS) an agent. One that recurs is counted once.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._block_texts = [numbers.setdefault(text, len(numbers)) for text in texts]
        self._texts = list(numbers)
        self._entries: list[list[Entries]] = [[] for _ in range(len(texts) // len(BLOCKS))]
        self._first = 0

    def add(self, bits: int, analyzer: Analyzer) -> None:
        """Count words or letter sequences into the columns that come next."""
        counted = [_scaled(*bucket_counts(text, bits, analyzer)) for text in self._texts]
        for number, text in enumerate(self._block_texts):
            agent, block = divmod(number, len(BLOCKS))
            buckets, values = counted[text]
            self._entries[agent].append((buckets + (self._first + (block << bits)), values))
        self._first += len(BLOCKS) << bits

    def of(self, places: Sequence[int], nodes: int) -> SparseRows:
        """The rows of all nodes; the agents' places say which are theirs."""
        counts = np.zeros(nodes + 1, np.int64)
        for place, entries in zip(places, self._entries, strict=True):
            counts[place + 1] = sum(len(buckets) for buckets, _ in entries)
        every = [_NONE, *(one for entries in self._entries for one in entries)]
        return SparseRows(
            offsets=counts.cumsum(),
            columns=np.concatenate([columns for columns, _ in every]).astype(np.int32),
            values=np.concatenate([values for _, values in every]).astype(np.float32),
        )


def _scaled(buckets: NDArray[np.int64], counts: NDArray[np.float64]) -> Entries:
    if not len(buckets):
        return _NONE
    values = np.sign(counts) * np.log1p(np.abs(counts))
    # Added one by one, in the buckets' order: `sum` adds in another order on each length.
    return buckets, values / np.sqrt((values * values).cumsum()[-1])
