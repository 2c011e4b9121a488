"""A span check on what is left of a noisy gradient after truncating it at every rank."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from privacy.attacks.channels import Kind
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.row_space import Basis, above_noise, by_rank
from privacy.attacks.span_check import Search, SpanCheck

RANKS = (1, 2, 4, 8, 16, 32)
"""Doubling: what rank k + 1 adds to rank k is one direction of many."""


@dataclass(frozen=True)
class SvdTruncation:
    """At each position the token nearest to the largest singular directions.

    The rank of what was hidden is not known: each is tried, and the rank at which singular values
    leave the noise's edge. The texts of all go into the answer.

    Attributes:
        kind: Of weight.
        tried: Ranks.
        search: Its tolerance must be None.
    """

    kind: Kind
    tried: Sequence[int] = RANKS
    search: Search = field(default_factory=lambda: Search(tolerance=None, longest=16, beam=2))

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"SVD truncation, {self.kind}"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The texts found at each rank, in turn."""
        bases: list[Basis] = [above_noise, *(by_rank(rank) for rank in self.tried)]
        found = (SpanCheck(self.kind, basis, self.search)(seen) for basis in bases)
        return list(dict.fromkeys(text for texts in found for text in texts))
