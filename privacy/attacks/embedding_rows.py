"""Tokens named by the rows of an embedding's gradient."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from privacy.attacks.channels import channels
from privacy.attacks.observation import Export, Observation, Tokens
from privacy.roles import Part, Role, parts_of

_STANDING_OUT = 8.0
"""How many standard deviations above the median a row's norm must lie where no row is zero."""


def outlying_rows(gradient: Tensor) -> Tensor:
    """Rows that are not zero; where no row is, those whose norm stands out of the others'.

    A tied output embedding makes every row's gradient non-zero, yet the tokens of the text have the
    longest. A row stands out if its norm lies eight standard deviations above the median, which of
    Gaussian noise not one in 10^15 does; the standard deviation is estimated by the median absolute
    deviation over 0.6745 (Hampel, 1974). Of those that do, the ones before the steepest drop from
    one row to the next: other words that the model expected have rows of middling length.

    Args:
        gradient: [rows, d].

    Returns:
        Their numbers, the longest row's first.
    """
    norms = torch.linalg.vector_norm(gradient, dim=1)
    order: Tensor = norms.argsort(descending=True)
    ordered = norms[order]
    if bool((norms == 0).any()):
        return torch.narrow(order, 0, 0, int((ordered > 0).sum()))
    middle = norms.median()
    spread = (norms - middle).abs().median() / 0.6745
    outlying = int((ordered > middle + _STANDING_OUT * spread).sum())
    if not outlying:
        return torch.narrow(order, 0, 0, 0)
    drops = ordered[:outlying] / ordered[1 : outlying + 1]
    return torch.narrow(order, 0, 0, int(drops.argmax()) + 1)


@dataclass(frozen=True)
class EmbeddingRows:
    """The tokens whose rows of the embedding's gradient are not zero, or stand out.

    One guess: the set of a batch's tokens, without order.
    """

    name: str = "embedding rows"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The set of tokens; none if no row tells."""
        return _guess(outlying_rows(value) for value in _embeddings(seen))


@dataclass(frozen=True)
class RowNormRanking:
    """The `count` longest rows, whether or not they stand out: for an attacker who knows of noise.

    Attributes:
        count: Tokens that a batch is believed to have.
        head: Of an untied output embedding instead.
    """

    count: int
    head: bool = False

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"longest rows, {'head' if self.head else 'embedding'}"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The set of tokens; none if the weight was not exported."""
        values = head_gradients(seen) if self.head else _embeddings(seen)
        return _guess(
            torch.linalg.vector_norm(value, dim=1).argsort(descending=True)[: self.count]
            for value in values
        )


@dataclass(frozen=True)
class HeadRows:
    """The tokens whose rows of an untied output embedding's gradient stand out.

    Row v of that gradient is sum_i (p_iv - [v follows i]) h_i: long for the tokens that do follow.
    """

    name: str = "head rows"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The set of tokens; none if there is no such weight or no row tells."""
        return _guess(outlying_rows(value) for value in head_gradients(seen))


def head_gradients(seen: Observation) -> list[Tensor]:
    """Gradients of an untied output embedding [vocabulary, d]: one, or none."""
    found = []
    for channel in channels(seen.model, "head"):
        for part in channel.parts:
            tied = part.role is Role.TOKEN_EMBEDDING
            whole = len(part.parameter) == _vocabulary(seen)
            if whole and not tied and part.name in seen.exports[0]:
                found.append(seen.exports[0][part.name])
    return found


def _vocabulary(seen: Observation) -> int:
    sizes = [len(part.parameter) for part in _embedding_parts(seen)]
    return max(sizes, default=0)


def _embeddings(seen: Observation) -> list[Tensor]:
    export: Export = seen.exports[0]
    return [export[part.name] for part in _embedding_parts(seen) if part.name in export]


def _embedding_parts(seen: Observation) -> list[Part]:
    return [part for part in parts_of(seen.model) if part.role is Role.TOKEN_EMBEDDING]


def _guess(found: Iterable[Tensor]) -> list[Tokens]:
    guesses = [tuple(int(row) for row in rows) for rows in found]
    return [guess for guess in guesses if guess]
