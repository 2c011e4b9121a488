"""The parts that a transformer's parameters play, and which of BERT's plays which."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType


class Role(StrEnum):
    """Parts of a transformer. A detector names its own: `fglguard.detector.Role`."""

    ATTENTION_PROJECTION = "attention_projection"
    """Q, K, V and output projection, weights and biases."""
    TOKEN_EMBEDDING = "token_embedding"
    POSITION_EMBEDDING = "position_embedding"
    """Positions and token types: which rows have a gradient tells a text's length."""
    EXPANSION = "expansion"
    """What widens inside a block's MLP, a gate included."""
    CONTRACTION = "contraction"
    HEAD = "head"
    """Everything after the last block: pooler, classifier, transform, untied output embedding."""
    BIAS = "bias"
    NORMALISATION = "normalisation"


Family = Mapping[Role, Sequence[str]]
"""Of each role, suffixes of parameter names; a suffix starts at the beginning of a name's part."""


_ADAPTER = re.compile(r"\.(base_layer|lora_[AB]\.\w+)(?=\.(weight|bias)$)")


def role_in(family: Family, name: str) -> Role | None:
    """The role of the longest suffix that fits a parameter's name; None if none does.

    A low-rank adapter B A on a weight W has W's role. With x the module's inputs and d the loss's
    gradient at its outputs, dL/dA = sum B^T d x^T lies in the span of the same inputs as
    dL/dW = sum d x^T, and dL/dB = sum d (A x)^T in that of their images under A, which is known.
    """
    name = _ADAPTER.sub("", name)
    best: tuple[int, Role] | None = None
    for role, suffixes in family.items():
        for suffix in suffixes:
            fits = f".{name}".endswith(f".{suffix}")
            if fits and (best is None or len(suffix) > best[0]):
                best = len(suffix), role
    return None if best is None else best[1]


_ATTENTION = ("self.query", "self.key", "self.value", "attention.output.dense")
BERT: Family = MappingProxyType(
    {
        Role.TOKEN_EMBEDDING: ["word_embeddings.weight"],
        Role.POSITION_EMBEDDING: ["position_embeddings.weight", "token_type_embeddings.weight"],
        Role.ATTENTION_PROJECTION: [
            f"{part}.{kind}" for part in _ATTENTION for kind in ("weight", "bias")
        ],
        Role.EXPANSION: ["intermediate.dense.weight"],
        Role.CONTRACTION: ["output.dense.weight"],
        Role.BIAS: ["intermediate.dense.bias", "output.dense.bias"],
        Role.NORMALISATION: ["LayerNorm.weight", "LayerNorm.bias"],
        Role.HEAD: [
            "pooler.dense.weight",
            "pooler.dense.bias",
            "classifier.weight",
            "classifier.bias",
            "predictions.bias",
            "predictions.transform.dense.weight",
            "predictions.transform.dense.bias",
            "predictions.decoder.weight",
        ],
    }
)
"""Of BERT, which MiniLM is one of."""
