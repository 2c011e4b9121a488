"""What a module inside a transformer reads, for texts that an attacker guesses."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from privacy.attacks.observation import Tokens
from privacy.text_task import pad

_TOGETHER = 256
"""Candidates in one row: attention costs the square of a row, and every call its overhead."""


class _Reached(Exception):
    """The module was reached: nothing after it needs computing."""


@torch.no_grad()
def text_inputs(
    model: PreTrainedModel, module: str, texts: Sequence[Tokens]
) -> tuple[Tensor, Tensor]:
    """Inputs of a module for whole texts, padded.

    Args:
        model: In evaluation mode.
        module: Its name.
        texts: B of them, of at most L tokens.

    Returns:
        Inputs [B, L, n] ([B, 1, n] if the module reads one vector a text), and which positions hold
        a token, bool [B, L] or [B, 1].
    """
    ids, present = pad(texts)
    read = _read(model, module, input_ids=ids, attention_mask=present)
    if read.ndim == 2 and len(read) == len(texts):
        return read.unsqueeze(1), torch.ones(len(texts), 1, dtype=torch.bool)
    return read.reshape(len(texts), ids.shape[1], -1), present.bool()


@torch.no_grad()
def candidate_inputs(
    model: PreTrainedModel,
    module: str,
    context: Sequence[int],
    positions: Sequence[int],
    candidates: Tensor,
    position: int,
) -> Tensor:
    """Inputs of a module at one position, for every candidate token there, [C, n].

    All candidates are one row: each attends to the context and itself alone, by the mask, and all
    have the same position, so that the context is computed once for many candidates and not once
    for each. For a decoder, whose context comes before, this is exact in every block; for an
    encoder in the first one, beyond which a context's tokens would see the candidate.

    Args:
        model: In evaluation mode.
        module: Its name.
        context: Tokens known or guessed.
        positions: Theirs, in ascending order.
        candidates: int64 [C].
        position: Of the candidates; for a decoder after the context's.
    """
    known = len(context)
    found = []
    for some in torch.split(candidates, _TOGETHER):
        ids = torch.cat([torch.tensor(context, dtype=torch.long), some])
        places = torch.tensor([*positions, *[position] * len(some)])
        sees = torch.eye(len(ids), dtype=torch.bool)
        sees[known:, :known] = True
        sees[:known, :known] = torch.ones(known, known, dtype=torch.bool).tril()
        hidden = torch.zeros(1, 1, *sees.shape).masked_fill(~sees, torch.finfo(torch.float32).min)
        read = _read(
            model,
            module,
            input_ids=ids.unsqueeze(0),
            attention_mask=hidden,
            position_ids=places.unsqueeze(0),
        )
        found.append(read.reshape(len(ids), -1)[known:])
    return torch.cat(found)


def _read(model: PreTrainedModel, module: str, **arguments: Any) -> Tensor:
    with _stopping_at(model.get_submodule(module)) as read:
        try:
            model(**arguments, use_cache=False)
        except _Reached:
            return read[0]
    raise RuntimeError(f"the model's forward pass never reached {module}")


@contextmanager
def _stopping_at(module: nn.Module) -> Iterator[list[Tensor]]:
    read: list[Tensor] = []

    def stop(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        read.append(inputs[0])
        raise _Reached

    handle = module.register_forward_pre_hook(stop)
    try:
        yield read
    finally:
        handle.remove()
