"""What agents said, as token ids: what an encoder that trains must see beside vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Message
from fglguard.segments import joined_offsets, segment_rows

if TYPE_CHECKING:
    import torch

TokenIds = NDArray[np.uint16]
Tokenize = Callable[[Sequence[str]], list[TokenIds]]
"""Token ids of each text, start and end marks included, no text's more than a cap."""

MOST_UTTERANCES = 8
"""Of one node; older ones are left out. It bounds what a step costs."""


@dataclass(frozen=True, slots=True, eq=False)
class Utterances:
    """What the nodes of graphs said, as weighted texts; a node's features are their sum.

    With phi the encoder, x_n = sum of weights[u] phi(text u) over the utterances u of node n: the
    mean over rounds of the means over a round's messages.

    Attributes:
        offsets: [N + 1] int64; node n has utterances offsets[n] : offsets[n + 1].
        weights: [U] float32; a node's add up to 1.
        token_offsets: [U + 1] int64, likewise the tokens of an utterance.
        tokens: [T] uint16 token ids. They spell the text out: as private as the text itself.
    """

    offsets: NDArray[np.int64]
    weights: NDArray[np.float32]
    token_offsets: NDArray[np.int64]
    tokens: TokenIds

    def select(self, nodes: NDArray[np.int64]) -> Utterances:
        """A copy of what some nodes said, in the order asked for."""
        rows, offsets = segment_rows(self.offsets, nodes)
        entries, token_offsets = segment_rows(self.token_offsets, rows)
        return Utterances(offsets, self.weights[rows], token_offsets, self.tokens[entries])


def concatenate_utterances(parts: Sequence[Utterances]) -> Utterances:
    """Those of all parts, in order."""
    return Utterances(
        joined_offsets([part.offsets for part in parts]),
        np.concatenate([part.weights for part in parts]),
        joined_offsets([part.token_offsets for part in parts]),
        np.concatenate([part.tokens for part in parts]),
    )


def node_utterances(
    window: Sequence[Message],
    index: Mapping[str, int],
    tokenize: Tokenize,
    most: int = MOST_UTTERANCES,
) -> Utterances:
    """What each node said within the window, its last `most` messages.

    Args:
        window: The messages that count.
        index: Place of each node by its agent's id.
        tokenize: Cuts texts into tokens.
        most: Messages of one node.
    """
    said: list[list[Message]] = [[] for _ in index]
    for message in window:
        said[index[message.sender]].append(message)
    kept = [messages[-most:] for messages in said]
    texts = tokenize([message.text for messages in kept for message in messages])
    weights = [weight for messages in kept for weight in _weights(messages)]
    return Utterances(
        np.cumsum([0, *map(len, kept)], dtype=np.int64),
        np.array(weights, dtype=np.float32),
        np.cumsum([0, *map(len, texts)], dtype=np.int64),
        np.concatenate(texts) if texts else np.zeros(0, np.uint16),
    )


def _weights(messages: Sequence[Message]) -> list[float]:
    """1 / (rounds * messages of the round) for each message of one node."""
    rounds = [message.round for message in messages]
    spoken = len(set(rounds))
    return [1 / (spoken * rounds.count(number)) for number in rounds]


@dataclass(slots=True, eq=False)
class UtteranceBatch:
    """What the nodes of a batch said; each distinct text stands once.

    Attributes:
        node: [U] int64, batch-wide node of each utterance, ascending.
        text: [U] int64, its text.
        weight: [U] float32.
        texts: Token ids of the distinct texts, each [tokens] int64.
        nodes: N, those that said nothing included.
    """

    node: torch.Tensor
    text: torch.Tensor
    weight: torch.Tensor
    texts: list[torch.Tensor]
    nodes: int


def collate_utterances(utterances: Utterances) -> UtteranceBatch:
    """Those of a whole batch's nodes."""
    import torch

    places: dict[bytes, int] = {}
    texts: list[torch.Tensor] = []
    text: list[int] = []
    for ids in np.split(utterances.tokens, utterances.token_offsets[1:-1]):
        place = places.setdefault(ids.tobytes(), len(places))
        if place == len(texts):
            texts.append(torch.from_numpy(ids.astype(np.int64)))
        text.append(place)
    counts = np.diff(utterances.offsets)
    return UtteranceBatch(
        node=torch.from_numpy(np.repeat(np.arange(len(counts)), counts)),
        text=torch.tensor(text, dtype=torch.int64),
        weight=torch.from_numpy(utterances.weights),
        texts=texts,
        nodes=len(counts),
    )


ARRAYS: Mapping[str, type[np.generic]] = {
    "offsets": np.int64,
    "weights": np.float32,
    "token_offsets": np.int64,
    "tokens": np.uint16,
}
"""Fields of `Utterances` and their types."""


def arrays_of(utterances: Utterances) -> dict[str, NDArray[Any]]:
    """Its arrays by name."""
    return {name: getattr(utterances, name) for name in ARRAYS}
