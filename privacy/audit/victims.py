"""Small transformers of five families, made here, for attacks to be tried on."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedModel,
)

from fglguard.errors import PrivacyError
from privacy.attacks.observation import Tokens
from privacy.audit.vocabulary import PAD, START, STOP, train_tokenizer
from privacy.text_task import TextBatch, is_decoder, task_loss

CLASSES = 4
"""Of an encoder's task."""


@dataclass(frozen=True)
class Size:
    """How large a victim is.

    Attributes:
        width: Of the residual stream; a multiple of 32, the width of a head.
        layers: Blocks.
        vocabulary: Tokens at most.
        positions: Tokens a text may have.
    """

    width: int = 96
    layers: int = 2
    vocabulary: int = 1000
    positions: int = 64


@dataclass(frozen=True)
class Victim:
    """A model with the tokenizer of its texts.

    Attributes:
        family: One of `FAMILIES`.
        model: In evaluation mode, float32.
        tokenizer: Learned from the texts handed in.
        positions: Tokens a text may have.
    """

    family: str
    model: PreTrainedModel
    tokenizer: Tokenizer
    positions: int

    def encode(self, texts: Iterable[str], longest: int | None = None) -> tuple[Tokens, ...]:
        """Token ids of texts, cut to `longest`, with the end (and for an encoder the start).

        A decoder's last token has no next one and so leaves no trace: it is the end's.
        """
        decoder = is_decoder(self.model)
        room = min(longest or self.positions, self.positions) - (1 if decoder else 2)
        start = () if decoder else (START,)
        return tuple((*start, *self.tokenizer.encode(text).ids[:room], STOP) for text in texts)

    def batch(self, texts: Sequence[str], longest: int | None = None) -> TextBatch:
        """Texts as a client's step; an encoder's classes are dealt in turn."""
        encoded = self.encode(texts, longest)
        labels = () if is_decoder(self.model) else tuple(i % CLASSES for i in range(len(texts)))
        return TextBatch(encoded, labels)


def make_victim(
    family: str, texts: Sequence[str], *, seed: int = 0, size: Size | None = None
) -> Victim:
    """A victim with weights drawn from a seed.

    Args:
        family: One of `FAMILIES`.
        texts: The tokenizer learns from them.
        seed: Of the weights.
        size: Of the model; `Size()` if None.

    Raises:
        PrivacyError: The family is unknown.
    """
    size = size or Size()
    if family not in _BUILDERS:
        raise PrivacyError(f"victim: expected one of {', '.join(FAMILIES)}, got {family!r}")
    tokenizer = train_tokenizer(texts, size.vocabulary, words=family == "bert")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _BUILDERS[family](size, tokenizer.get_vocab_size())
    model.train(False)
    return Victim(family, model, tokenizer, size.positions)


def train_victim(
    victim: Victim,
    texts: Sequence[str],
    *,
    steps: int = 200,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
    longest: int = 32,
    seed: int = 0,
) -> list[float]:
    """Train a victim on texts with Adam, in place, and return each step's loss.

    Its model then knows the language a little, as a real one does. Text i of an encoder's task has
    class i modulo `CLASSES`, drawn once for all: a task to be learned by heart.
    """
    encoded = victim.encode(texts, longest)
    order = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(
        [parameter for parameter in victim.model.parameters() if parameter.requires_grad],
        lr=learning_rate,
    )
    losses = []
    for _ in range(steps):
        chosen = torch.randint(len(encoded), (batch_size,), generator=order).tolist()
        labels = () if is_decoder(victim.model) else tuple(i % CLASSES for i in chosen)
        loss = task_loss(victim.model, TextBatch(tuple(encoded[i] for i in chosen), labels))
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    optimizer.zero_grad()
    return losses


def _shape(size: Size, vocabulary: int) -> dict[str, Any]:
    # The usual 0.02 suits a width of 768 or more. In a narrow model it leaves attention all but
    # uniform, so that positions' gradients differ by less than float32 can hold.
    spread = 1 / math.sqrt(size.width)
    return {
        "initializer_range": spread,
        "vocab_size": vocabulary,
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.width // 32,
        "max_position_embeddings": size.positions,
        "pad_token_id": PAD,
        "bos_token_id": START,
        "eos_token_id": STOP,
    }


def _gpt2(size: Size, vocabulary: int) -> PreTrainedModel:
    shape = _shape(size, vocabulary)
    return GPT2LMHeadModel(GPT2Config(**shape, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def _bert(size: Size, vocabulary: int) -> PreTrainedModel:
    return BertForSequenceClassification(
        BertConfig(
            **_shape(size, vocabulary),
            id2label={number: str(number) for number in range(CLASSES)},
            intermediate_size=4 * size.width,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def _llama(size: Size, vocabulary: int) -> PreTrainedModel:
    shape = _shape(size, vocabulary)
    return LlamaForCausalLM(LlamaConfig(**shape, intermediate_size=3 * size.width))


def _opt(size: Size, vocabulary: int) -> PreTrainedModel:
    shape = _shape(size, vocabulary)
    shape["init_std"] = shape.pop("initializer_range")
    return OPTForCausalLM(
        OPTConfig(**shape, ffn_dim=4 * size.width, word_embed_proj_dim=size.width, dropout=0.0)
    )


def _gpt_neox(size: Size, vocabulary: int) -> PreTrainedModel:
    shape = _shape(size, vocabulary)
    return GPTNeoXForCausalLM(GPTNeoXConfig(**shape, intermediate_size=4 * size.width))


_BUILDERS: Mapping[str, Callable[[Size, int], PreTrainedModel]] = {
    "gpt2": _gpt2,
    "bert": _bert,
    "llama": _llama,
    "opt": _opt,
    "gpt_neox": _gpt_neox,
}
FAMILIES = tuple(_BUILDERS)
