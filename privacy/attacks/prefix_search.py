"""Texts of a decoder, token after token: what a position reads depends on what came before alone.

DAGER (arXiv 2405.15586) calls it exact: a prefix can be checked without knowing what follows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.layer_inputs import candidate_inputs
from privacy.attacks.observation import Tokens


@dataclass(frozen=True)
class Check:
    """How well inputs of a module fit what was seen of its weight.

    Attributes:
        module: Whose inputs.
        cost: From inputs [C, n] to costs [C]; the lower, the better it fits.
    """

    module: str
    cost: Callable[[Tensor], Tensor]


def prefix_search(
    model: PreTrainedModel,
    checks: Sequence[Check],
    *,
    tolerance: float | None,
    longest: int,
    beam: int,
) -> list[Tokens]:
    """Texts whose every position fits, the best first.

    Args:
        model: A decoder.
        checks: One after the other, each on what the ones before let through: the first module
            first, as it is cheapest.
        tolerance: A token fits if every check costs less than this; a text ends where none does.
            None: the cheapest tokens go on until `longest`, whatever they cost.
        longest: Tokens at most.
        beam: Texts followed at once.
    """
    end = model.config.eos_token_id
    growing: list[tuple[float, Tokens]] = [(0.0, ())]
    finished: list[tuple[float, Tokens]] = []
    for _ in range(longest):
        grown: list[tuple[float, Tokens]] = []
        for total, prefix in growing:
            followers = _followers(model, checks, prefix, tolerance, beam)
            if not followers:
                finished.append((total, prefix))
            for cost, token in followers:
                ended = token == end and tolerance is not None
                (finished if ended else grown).append((total + cost, (*prefix, token)))
        growing = sorted(grown)[:beam]
        if not growing:
            break
    return _longest(finished + growing)


def _followers(
    model: PreTrainedModel,
    checks: Sequence[Check],
    prefix: Tokens,
    tolerance: float | None,
    beam: int,
) -> list[tuple[float, int]]:
    tokens = torch.arange(model.config.vocab_size)
    total = torch.zeros(len(tokens))
    for number, check in enumerate(checks):
        read = candidate_inputs(
            model, check.module, prefix, range(len(prefix)), tokens, len(prefix)
        )
        cost = check.cost(read)
        total = total + cost
        if tolerance is not None:
            kept = (cost < tolerance).nonzero().squeeze(1)
        else:
            kept = total.argsort()[: beam if number == len(checks) - 1 else 8 * beam]
        tokens, total = tokens[kept], total[kept]
        if not len(tokens):
            return []
    order = total.argsort()[:beam]
    return [(float(total[index]), int(tokens[index])) for index in order]


def _longest(found: Sequence[tuple[float, Tokens]]) -> list[Tokens]:
    """Texts in order of mean cost, without those that another one continues."""
    texts = {text for _, text in found if text}
    whole = {text for text in texts if not any(o != text and o[: len(text)] == text for o in texts)}
    mean = {text: cost / len(text) for cost, text in found if text in whole}
    return sorted(mean, key=lambda text: (mean[text], text))
