"""The loss of a batch of texts and its gradient: a client computes it, an attacker repeats it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from fglguard.errors import PrivacyError
from privacy.attacks.observation import Tokens

IGNORED = -100
"""Label of a position that has no next token."""


@dataclass(frozen=True)
class TextBatch:
    """Texts that a client trains on in one step.

    Attributes:
        texts: Token ids with the family's special ones, not padded.
        labels: Class of each text, for a classifier; empty for a language model.
    """

    texts: tuple[Tokens, ...]
    labels: tuple[int, ...] = ()


def transformer(model: nn.Module) -> PreTrainedModel:
    """The model as one of transformers'.

    Raises:
        PrivacyError: It is none.
    """
    if not isinstance(model, PreTrainedModel):
        raise PrivacyError(f"expected a model of transformers, got {type(model).__name__}")
    return model


def is_decoder(model: PreTrainedModel) -> bool:
    """Whether it predicts the next token; a classifier over an encoder otherwise."""
    return bool(model.can_generate())


def classes(model: PreTrainedModel) -> int:
    """Of a classifier's task.

    Raises:
        PrivacyError: The model's configuration does not say.
    """
    count = model.config.num_labels
    if not isinstance(count, int) or count < 1:
        raise PrivacyError(f"expected a classifier's num_labels of at least 1, got {count!r}")
    return count


def pad(texts: Sequence[Tokens], filler: int = 0) -> tuple[Tensor, Tensor]:
    """Texts padded on the right, int64 [B, L], and 1 where a token is, [B, L].

    Raises:
        PrivacyError: There is no text, or one without tokens.
    """
    if not texts or not all(texts):
        raise PrivacyError("expected a batch of texts with at least one token each, got an empty")
    longest = max(map(len, texts))
    ids = torch.full((len(texts), longest), filler)
    present = torch.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
        present[row, : len(text)] = 1
    return ids, present


def task_loss(model: PreTrainedModel, batch: TextBatch) -> Tensor:
    """Mean cross-entropy of the next token over a batch's tokens, or of the texts' classes.

    Raises:
        PrivacyError: The batch is empty, or a classifier got no label for a text.
    """
    ids, present = pad(batch.texts)
    logits = model(input_ids=ids, attention_mask=present).logits
    if not is_decoder(model):
        if len(batch.labels) != len(batch.texts):
            raise PrivacyError(
                f"expected a label for each of {len(batch.texts)} texts, got {len(batch.labels)}"
            )
        return F.cross_entropy(logits, torch.tensor(batch.labels))
    following = ids.masked_fill(present == 0, IGNORED)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten(), ignore_index=IGNORED)


def gradient(
    model: PreTrainedModel, batch: TextBatch, names: Iterable[str] | None = None
) -> dict[str, Tensor]:
    """FedSGD gradient of each parameter that trains, by name; tied weights once.

    Args:
        model: In evaluation mode, so that dropout does not blur it.
        batch: The client's.
        names: Only of these.

    Raises:
        PrivacyError: Nothing trains, or the loss does not reach a parameter.
    """
    wanted = None if names is None else set(names)
    trained = {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and (wanted is None or name in wanted)
    }
    if not trained:
        raise PrivacyError(f"{type(model).__name__}: none of the parameters asked for trains")
    found = torch.autograd.grad(task_loss(model, batch), list(trained.values()), allow_unused=True)
    missing = [name for name, value in zip(trained, found, strict=True) if value is None]
    if missing:
        raise PrivacyError(f"the loss does not depend on {', '.join(missing[:5])}")
    return {
        name: value.detach()
        for name, value in zip(trained, found, strict=True)
        if value is not None
    }
