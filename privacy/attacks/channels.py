"""Where in a transformer a text's inputs reach a weight, and so show in its gradient."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from privacy.attacks.observation import Export
from privacy.roles import Part, Role, parts_of

Kind = Literal["attention", "query", "value", "output", "expansion", "contraction", "head"]
"""`attention`: all of Q, K, V that were exported, stacked."""

_BLOCK = re.compile(r"\.(\d+)\.")
_OUTPUTS = ("c_proj", "output.dense", "o_proj", "out_proj", "attention.dense")
_READERS: Mapping[Kind, tuple[str, ...]] = {
    "query": ("query", "q_proj"),
    "value": ("value", "v_proj"),
}


@dataclass(frozen=True)
class Channel:
    """Weights of one kind in one block; all read the same input.

    Attributes:
        kind: Which part of the block.
        block: Its number; 0 for the head.
        module: The module whose input they read.
        parts: The weights.
    """

    kind: Kind
    block: int
    module: str
    parts: tuple[Part, ...]

    def gradient(self, export: Export) -> Tensor | None:
        """Exported gradients, one above the other, [m, n]; None if none was exported.

        Each is divided by its norm times the root of its share of outputs, so that a loud weight
        does not drown the others.
        """
        found = []
        for part in self.parts:
            if part.name in export:
                value = export[part.name]
                found.append(value.t() if part.inputs_first else value)
        if not found:
            return None
        if len(found) == 1:
            return found[0]
        return torch.cat(
            [value * math.sqrt(len(value)) / value.norm().clamp_min(1e-30) for value in found]
        )

    def sigma(self, export: Export, sigmas: Mapping[str, float]) -> float:
        """Size of the noise on an entry of `gradient`; 0 if any weight has none.

        Of several weights the loudest noise after division.
        """
        known = [part.name for part in self.parts if part.name in export]
        if not known or any(name not in sigmas for name in known):
            return 0.0
        if len(known) == 1:
            return sigmas[known[0]]
        return max(
            sigmas[part.name] * math.sqrt(_outputs(part)) / float(export[part.name].norm())
            for part in self.parts
            if part.name in export
        )


def channels(model: nn.Module, kind: Kind) -> list[Channel]:
    """The channels of a kind, the first block first; empty if the model has none."""
    if kind == "head":
        return _head(model)
    blocks: dict[int, list[Part]] = {}
    for part in parts_of(model):
        block = _BLOCK.search(part.name)
        if block and part.parameter.ndim == 2 and _is(part, kind):
            blocks.setdefault(int(block.group(1)), []).append(part)
    return [
        Channel(kind, block, _owner(parts[0]), tuple(parts))
        for block, parts in sorted(blocks.items())
    ]


def _is(part: Part, kind: Kind) -> bool:
    if kind == "expansion":
        return part.role is Role.EXPANSION
    if kind == "contraction":
        return part.role is Role.CONTRACTION
    if part.role is not Role.ATTENTION_PROJECTION:
        return False
    owner = _owner(part)
    if owner.endswith(_OUTPUTS):
        return kind == "output"
    return kind == "attention" or (kind in _READERS and owner.endswith(_READERS[kind]))


def _head(model: nn.Module) -> list[Channel]:
    """What reads the last block's output: pooler, output embedding; tied, it is the embedding."""
    parts = parts_of(model)
    named = {id(module): name for name, module in model.named_modules()}
    embedding = getattr(model, "get_output_embeddings", lambda: None)()
    if isinstance(embedding, nn.Linear):
        parts = tuple(part for part in parts if part.parameter is embedding.weight)
        return [Channel("head", 0, named[id(embedding)], parts)]
    heads = [part for part in parts if part.role is Role.HEAD and part.parameter.ndim == 2]
    return [Channel("head", 0, _owner(part), (part,)) for part in heads]


def _owner(part: Part) -> str:
    return part.name.rpartition(".")[0]


def _outputs(part: Part) -> int:
    return part.parameter.shape[1 if part.inputs_first else 0]
