"""Texts of an encoder: every position reads every other, so a guess is improved in turns."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from privacy.attacks.layer_inputs import candidate_inputs, text_inputs
from privacy.attacks.observation import Tokens
from privacy.attacks.prefix_search import Check

_SWEEPS = 4


def fitting_tokens(
    model: PreTrainedModel, check: Check, tolerance: float, longest: int
) -> list[list[int]]:
    """Tokens that fit at each position, up to the first one where none does.

    Exact where a module of the first block reads nothing but a token and its position: Q, K and V.
    """
    vocabulary = torch.arange(model.config.vocab_size)
    found = []
    for position in range(longest):
        cost = check.cost(candidate_inputs(model, check.module, (), (), vocabulary, position))
        fit = (cost < tolerance).nonzero().squeeze(1)
        if not len(fit):
            break
        found.append([int(token) for token in fit[cost[fit].argsort()]])
    return found


def assemble(
    model: PreTrainedModel, fitting: Sequence[Sequence[int]], check: Check, most: int
) -> list[Tokens]:
    """Sentences from the tokens that fit at each position, by a check of the second block.

    A sentence can end where the end's token fits. From each token of the first free position, the
    others are chosen in turns so that the whole sentence's mean cost falls.

    Args:
        model: An encoder.
        fitting: Tokens at each position, as `fitting_tokens` finds them.
        check: Of a module that reads whole sentences.
        most: Sentences at most.
    """
    stop = model.config.eos_token_id
    ends = [place for place, tokens in enumerate(fitting) if place > 1 and stop in tokens]
    found: dict[Tokens, float] = {}
    for end in ends or [len(fitting)]:
        choices = [
            [token for token in tokens if token != stop] or [stop] for tokens in fitting[:end]
        ]
        for first in choices[1] if len(choices) > 1 else []:
            start = [tokens[0] for tokens in choices]
            start[1] = first
            text, cost = _improve(model, choices, check, start, stop)
            found[text] = cost
    return sorted(found, key=lambda text: (found[text], text))[:most]


def _improve(
    model: PreTrainedModel,
    choices: Sequence[Sequence[int]],
    check: Check,
    text: list[int],
    stop: int,
) -> tuple[Tokens, float]:
    best = float("inf")
    for _ in range(_SWEEPS):
        before = list(text)
        for place, tokens in enumerate(choices):
            if len(tokens) == 1 and best < float("inf"):
                continue
            tried = [(*text[:place], token, *text[place + 1 :], stop) for token in tokens]
            costs = sentence_costs(model, check, tried)
            best = float(costs.min())
            text[place] = tokens[int(costs.argmin())]
        if text == before:
            break
    return (*text, stop), best


def sentence_costs(model: PreTrainedModel, check: Check, texts: Sequence[Tokens]) -> Tensor:
    """Mean cost over each text's positions, [B]."""
    read, present = text_inputs(model, check.module, texts)
    cost = check.cost(read.flatten(0, 1)).view(present.shape) * present
    return cost.sum(1) / present.sum(1)


def sentence_search(model: PreTrainedModel, check: Check, length: int, starts: int) -> list[Tokens]:
    """Sentences of a known length that fit a module of the first block, without a threshold.

    Each position takes the token that costs least beside the others' current guesses; those not yet
    guessed are hidden from it. Sweeps go on until nothing changes (iterated conditional modes,
    Besag, 1986).

    Args:
        model: An encoder.
        check: Of a module in the first block.
        length: Tokens with start and end.
        starts: Sentences to look for, each from another token at the first free position.
    """
    vocabulary = torch.arange(model.config.vocab_size)
    known: dict[int, int] = {0: model.config.bos_token_id, length - 1: model.config.eos_token_id}
    first = _costs(model, check, known, vocabulary, 1).argsort()[:starts]
    texts = []
    for token in first.tolist():
        guess = dict(known)
        guess[1] = token
        for place in range(2, length - 1):
            guess[place] = int(_costs(model, check, guess, vocabulary, place).argmin())
        texts.append(_settle(model, check, guess, vocabulary, length))
    return list(dict.fromkeys(texts))


def _settle(
    model: PreTrainedModel, check: Check, guess: dict[int, int], vocabulary: Tensor, length: int
) -> Tokens:
    for _ in range(_SWEEPS):
        before = dict(guess)
        for place in range(1, length - 1):
            guess[place] = int(_costs(model, check, guess, vocabulary, place).argmin())
        if guess == before:
            break
    return tuple(guess[place] for place in range(length))


def _costs(
    model: PreTrainedModel, check: Check, guess: dict[int, int], tokens: Tensor, place: int
) -> Tensor:
    others = sorted(position for position in guess if position != place)
    context = [guess[position] for position in others]
    return check.cost(candidate_inputs(model, check.module, context, others, tokens, place))
