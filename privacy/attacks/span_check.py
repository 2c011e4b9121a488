"""Texts whose inputs lie in the row space of a weight's gradient (DAGER, arXiv 2405.15586)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.channels import Channel, Kind, channels
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.prefix_search import Check, prefix_search
from privacy.attacks.row_space import Basis, by_tolerance, distance
from privacy.attacks.sentence_search import (
    assemble,
    fitting_tokens,
    sentence_search,
)
from privacy.attacks.text_length import text_length
from privacy.text_task import is_decoder, transformer


def _as_it_is(gradient: Tensor) -> Tensor:
    return gradient


@dataclass(frozen=True)
class Search:
    """How far a search for texts goes.

    Attributes:
        tolerance: Largest cost of a token that fits; None: the cheapest always fits.
        longest: Tokens of a text, at most or, without a tolerance, exactly.
        beam: Texts followed at once.
    """

    tolerance: float | None = 0.005
    longest: int = 32
    beam: int = 8


@dataclass(frozen=True)
class SpanCheck:
    """Finds texts that one kind of weight has seen.

    Of a decoder by prefixes; of an encoder position by position where Q, K and V are exported, with
    sentences put together by the second block, and else by improving a sentence in turns.

    Attributes:
        kind: Of weight.
        basis: Of a gradient's row space.
        search: How far to look.
        clean: Applied to gradients first.
        label: Beginning of the attack's name.
    """

    kind: Kind
    basis: Basis = field(default_factory=by_tolerance)
    search: Search = field(default_factory=Search)
    clean: Callable[[Tensor], Tensor] = _as_it_is
    label: str = "span check"

    @property
    def name(self) -> str:
        """In the audit's table."""
        return f"{self.label}, {self.kind}"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The texts found, the best first; none if the weight was not exported or spans all."""
        checks = []
        for channel in channels(seen.model, self.kind):
            check = self._check(channel, seen)
            if check is not None:
                checks.append(check)
        return search_texts(seen, self.kind, checks, self.search)

    def _check(self, channel: Channel, seen: Observation) -> Check | None:
        export = seen.exports[0]
        gradient = channel.gradient(export)
        if gradient is None:
            return None
        basis = self.basis(self.clean(gradient), channel.sigma(export, seen.sigma))
        if not basis.shape[1]:
            return None
        return Check(channel.module, lambda inputs: distance(inputs, basis))


def search_texts(
    seen: Observation, kind: Kind, checks: list[Check], search: Search
) -> list[Tokens]:
    """Texts that fit checks of one kind, the first block's first; none without checks."""
    model = transformer(seen.model)
    if not checks:
        return []
    if is_decoder(model):
        return prefix_search(
            model,
            checks,
            tolerance=search.tolerance,
            longest=search.longest,
            beam=search.beam,
        )
    return _encoder_texts(model, seen, kind, checks, search)


def _encoder_texts(
    model: PreTrainedModel, seen: Observation, kind: Kind, checks: list[Check], search: Search
) -> list[Tokens]:
    if kind == "head":  # It reads whole texts: a bank's business.
        return []
    if kind in ("attention", "query", "value") and search.tolerance is not None:
        fitting = fitting_tokens(model, checks[0], search.tolerance, search.longest)
        if len(checks) == 1 or all(len(tokens) == 1 for tokens in fitting):
            return _every_choice(fitting)
        return assemble(model, fitting, checks[1], search.beam)
    length = text_length(model, seen.exports[0]) or search.longest
    return sentence_search(model, checks[0], length, max(1, search.beam // 4))


def _every_choice(fitting: list[list[int]]) -> list[Tokens]:
    """The k-th best token of each position, for each k: unordered among the texts of a batch."""
    deepest = max(map(len, fitting), default=0)
    return [
        tuple(tokens[min(rank, len(tokens) - 1)] for tokens in fitting) for rank in range(deepest)
    ]
