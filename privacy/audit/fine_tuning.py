"""Plain federated fine-tuning of a small transformer, with every client's export masked."""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from transformers import PreTrainedModel

from fglguard.errors import UpdateError
from fglguard.parameters import flatten, load_flat
from fglguard.settings import PrivacySettings
from privacy.noise import SeededNoise
from privacy.text_task import IGNORED, TextBatch, gradient, is_decoder, pad
from privacy.update_mask import UpdateMask

_NOISE, _TEXTS = 1, 2
"""Part the noise's seed from that of the texts."""
_EVALUATED = 64
"""Texts at once."""
_HOPELESS = 100.0
"""Nats a token, far above what guessing costs."""


@dataclass(frozen=True)
class FineTuning:
    """How sites train together.

    Attributes:
        clients: Sites; private texts are dealt to them in turn.
        rounds: Exports of each site.
        local_steps: Steps of plain SGD before each export; 1 is FedSGD.
        batch_size: Texts a step.
        learning_rate: Of each step.
        seed: Of batches and noise.
    """

    clients: int = 4
    rounds: int = 100
    local_steps: int = 1
    batch_size: int = 16
    learning_rate: float = 0.1
    seed: int = 0


def deal(texts: TextBatch, clients: int) -> list[TextBatch]:
    """Each client's texts: every `clients`-th."""
    return [
        TextBatch(texts.texts[first::clients], texts.labels[first::clients])
        for first in range(clients)
    ]


def fine_tune(
    model: PreTrainedModel, private: TextBatch, training: FineTuning, privacy: PrivacySettings
) -> PreTrainedModel:
    """A copy of the model, trained across sites on their private texts.

    In each round every site takes the global model some steps of SGD further on batches of its own
    and exports its change, masked once; the server adds the mean of the changes. With one step the
    change is the learning rate times the gradient, and masks scale with what they hide: FedSGD.

    The batches of a round are the same under every mask.

    Args:
        model: Left as it is.
        private: All sites' texts.
        training: How.
        privacy: The mask.

    Raises:
        PrivacyError: A mask refuses, or a parameter has no role.
        UpdateError: Training diverged.
    """
    own = copy.deepcopy(model)
    sites = deal(private, training.clients)
    for number in range(training.rounds):
        sent = flatten(own)
        total = np.zeros_like(sent)
        for client, site in enumerate(sites):
            load_flat(own, sent, f"round {number}")
            place = (training.seed, number, client)
            looks = training.local_steps if privacy.mode == "gradient" else 1
            mask = UpdateMask(own, privacy, SeededNoise((*place, _NOISE)), looks=looks)
            _train(own, site, training, np.random.default_rng((*place, _TEXTS)), mask)
            trained = flatten(own)
            _require_finite(trained - sent, training)
            total += mask.update(sent, trained) - sent
        load_flat(own, sent + total / np.float32(training.clients), f"the mean of round {number}")
    return own


def _require_finite(change: NDArray[np.float32], training: FineTuning) -> None:
    # A mask would refuse such a change as well, but can't know that it is the rate's fault.
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.linalg.norm(change))
    if not math.isfinite(length):
        raise UpdateError(
            f"fine-tuning: a change is NaN or infinite; a lower learning rate than "
            f"{training.learning_rate:g} may help"
        )


def _train(
    model: PreTrainedModel,
    site: TextBatch,
    training: FineTuning,
    draw: np.random.Generator,
    mask: UpdateMask,
) -> None:
    for _ in range(training.local_steps):
        chosen = draw.choice(len(site.texts), min(training.batch_size, len(site.texts)), False)
        slopes = gradient(model, _chosen(site, chosen.tolist()))
        masked = mask.gradients(list(slopes.values()))
        trained = dict(model.named_parameters())
        with torch.no_grad():
            for name, slope in zip(slopes, masked, strict=True):
                trained[name].sub_(slope, alpha=training.learning_rate)


def held_out(model: PreTrainedModel, texts: TextBatch) -> float:
    """Perplexity of the texts' tokens, or the share of texts whose class a classifier finds.

    Raises:
        UpdateError: The loss is not finite, or beyond all measure.
    """
    total, count = 0.0, 0
    for batch in _batches(texts):
        ids, present = pad(batch.texts)
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=present).logits
            if is_decoder(model):
                following = ids.masked_fill(present == 0, IGNORED)[:, 1:].flatten()
                total += F.cross_entropy(
                    logits[:, :-1].flatten(0, 1), following, ignore_index=IGNORED, reduction="sum"
                ).item()
                count += int((following != IGNORED).sum())
            else:
                total += float((logits.argmax(1) == torch.tensor(batch.labels)).sum())
                count += len(batch.texts)
    if not is_decoder(model):
        return total / count
    if not total / count < _HOPELESS:
        raise UpdateError(f"fine-tuning: the held-out loss is {total / count:g}")
    return math.exp(total / count)


def _batches(texts: TextBatch) -> Iterator[TextBatch]:
    for start in range(0, len(texts.texts), _EVALUATED):
        yield _chosen(texts, range(start, min(start + _EVALUATED, len(texts.texts))))


def _chosen(texts: TextBatch, places: Sequence[int]) -> TextBatch:
    labels = tuple(texts.labels[place] for place in places) if texts.labels else ()
    return TextBatch(tuple(texts.texts[place] for place in places), labels)
