"""What an agent was asked, said, called and heard, as hashed words and letters: sparse rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

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
_SAID, _CALLED, _HEARD, _LAST = range(1, len(BLOCKS))

Entries = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Buckets or columns, ascending, and a count or value of each."""
_NONE: Entries = (np.zeros(0, np.int64), np.zeros(0))
_Row = tuple[NDArray[np.int32], NDArray[np.float32]]
_EMPTY: _Row = (np.zeros(0, np.int32), np.zeros(0, np.float32))
Hashing = tuple[int, Analyzer]
"""log2 of the buckets, and what is hashed into them."""


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
    """Number of columns of `HashedTexts.rows`."""
    return len(BLOCKS) * sum(1 << bits for bits in (word_bits, letter_bits) if bits)


def hashed_text(
    episode: Episode, agents: Sequence[str], word_bits: int, letter_bits: int
) -> SparseRows:
    """The rows that `HashedTexts` gives after a whole episode.

    Args:
        episode: The episode.
        agents: Ids of the nodes, in their order.
        word_bits: Buckets of words; 0: no words.
        letter_bits: Buckets of letter sequences; 0: none.
    """
    kinds = episode.kinds
    texts = HashedTexts(word_bits, letter_bits)
    for message in episode.messages:
        texts.add(message, kinds)
    return texts.rows(agents, kinds)


class HashedTexts:
    """What each agent of an episode was asked, said, called and heard, as messages come.

    A node's row: of an agent five blocks of words and five of letter sequences. The blocks hold
    what users said, what the agent said, the calls it made, what tools and other agents told it,
    and its last message. A block holds v = sign(c) log(1 + |c|), scaled to unit length, of signed
    counts c hashed into 2^bits buckets (`bucket_counts`, which needs no fitting: two sites that
    never talked give one text the same row). Who is no agent has an empty row.

    Args:
        word_bits: Buckets of words; 0: no words.
        letter_bits: Buckets of letter sequences; 0: none.
    """

    def __init__(self, word_bits: int, letter_bits: int) -> None:
        hashings: list[Hashing] = [(word_bits, "word"), (letter_bits, "char_wb")]
        self._hashings = [(bits, analyzer) for bits, analyzer in hashings if bits]
        self._asked = self._empty = _Block(self._hashings)
        self._blocks: dict[str, list[_Block]] = {}
        self._rows: dict[str, _Row] = {}

    def copy(self) -> HashedTexts:
        """One that takes in messages by itself; what is counted already is shared."""
        other = HashedTexts.__new__(HashedTexts)
        other._hashings, other._asked, other._empty = self._hashings, self._asked, self._empty
        other._blocks = {agent: list(blocks) for agent, blocks in self._blocks.items()}
        other._rows = dict(self._rows)
        return other

    def add(self, message: Message, kinds: Mapping[str, str]) -> None:
        """Take in a message."""
        text = message.text[:MESSAGE_CHARACTERS]
        counted: dict[str, tuple[Entries, ...]] = {}
        if kinds[message.sender] == "user":
            self._asked = self._asked.with_text(text, counted)
            self._rows.clear()
        else:
            for receiver in dict.fromkeys(message.receivers):
                if receiver != message.sender and kinds[receiver] == "agent":
                    self._write(receiver, _HEARD, text, counted)
        if kinds[message.sender] == "agent":
            self._write(message.sender, _CALLED if message.kind == "call" else _SAID, text, counted)
            last = self._empty.with_text(message.text[:LAST_CHARACTERS], counted)
            self._of(message.sender)[_LAST] = last

    def rows(self, agents: Sequence[str], kinds: Mapping[str, str]) -> SparseRows:
        """The rows of nodes, by their ids, in order."""
        rows = [self._row(agent) if kinds[agent] == "agent" else _EMPTY for agent in agents]
        return SparseRows(
            offsets=np.cumsum([0, *(len(columns) for columns, _ in rows)], dtype=np.int64),
            columns=np.concatenate([_EMPTY[0], *(columns for columns, _ in rows)]),
            values=np.concatenate([_EMPTY[1], *(values for _, values in rows)]),
        )

    def _of(self, agent: str) -> list[_Block]:
        return self._blocks.setdefault(agent, [self._empty] * len(BLOCKS))

    def _write(
        self, agent: str, block: int, text: str, counted: dict[str, tuple[Entries, ...]]
    ) -> None:
        blocks = self._of(agent)
        blocks[block] = blocks[block].with_text(text, counted)
        self._rows.pop(agent, None)

    def _row(self, agent: str) -> _Row:
        """An agent's entries, kept until one of its blocks changes."""
        if agent not in self._rows:
            self._rows[agent] = self._joined(agent)
        return self._rows[agent]

    def _joined(self, agent: str) -> _Row:
        """All blocks of words, then all of letter sequences."""
        blocks = [self._asked, *self._blocks.get(agent, [self._empty] * len(BLOCKS))[1:]]
        found, firsts, first = [_NONE], [0], 0
        for number, (bits, _) in enumerate(self._hashings):
            found += [block.entries[number] for block in blocks]
            firsts += [first + (place << bits) for place in range(len(BLOCKS))]
            first += len(BLOCKS) << bits
        columns = np.concatenate([buckets for buckets, _ in found])
        columns += np.repeat(firsts, [len(buckets) for buckets, _ in found])
        values = np.concatenate([values for _, values in found])
        return columns.astype(np.int32), values.astype(np.float32)


class _Block:
    """Texts one after another, blanks between them, cut at BLOCK_CHARACTERS, as hashed counts.

    It never changes. Words and letter sequences end at a blank, so that counts of texts add up.

    Args:
        hashings: What is counted.
        room: Characters that are left.
        parts: The counts of its texts, one for each hashing.
    """

    def __init__(
        self,
        hashings: Sequence[Hashing],
        room: int = BLOCK_CHARACTERS,
        parts: tuple[tuple[Entries, ...], ...] = (),
    ) -> None:
        self._hashings = hashings
        self._room = room
        self._parts = parts

    def with_text(self, text: str, counted: dict[str, tuple[Entries, ...]]) -> _Block:
        """The block with one more text; `counted` keeps counts by text, for other blocks."""
        if self._room <= 0:
            return self
        text = text[: self._room]
        found = counted.get(text)
        if found is None:
            found = tuple(bucket_counts(text, *hashing) for hashing in self._hashings)
            counted[text] = found
        # After the blank that follows.
        return _Block(self._hashings, self._room - len(text) - 1, (*self._parts, found))

    @cached_property
    def entries(self) -> tuple[Entries, ...]:
        """Buckets and scaled values, for each hashing."""
        if len(self._parts) > 1:
            self._parts = (tuple(map(self._sum, range(len(self._hashings)))),)
        if not self._parts:
            return (_NONE,) * len(self._hashings)
        return tuple(_scaled(*counts) for counts in self._parts[0])

    def _sum(self, number: int) -> Entries:
        buckets = np.concatenate([part[number][0] for part in self._parts])
        weights = np.concatenate([part[number][1] for part in self._parts])
        counts = np.bincount(buckets, weights, 1 << self._hashings[number][0])
        present = counts.nonzero()[0].astype(np.int64)
        return present, counts[present].astype(np.float64)


def _scaled(buckets: NDArray[np.int64], counts: NDArray[np.float64]) -> Entries:
    if not len(buckets):
        return _NONE
    values = np.sign(counts) * np.log1p(np.abs(counts))
    # Added one by one, in the buckets' order: `sum` adds in another order on each length.
    return buckets, values / np.sqrt((values * values).cumsum()[-1])
