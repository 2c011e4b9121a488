"""A flat vector [P] as tensors of a model's trainable parameters, and back."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fglguard.parameters import layout

FlatVector = NDArray[np.float32]


def trainable_parts(model: nn.Module, vector: FlatVector) -> list[Tensor]:
    """The vector's numbers for each parameter that trains, in the parameters' order and shapes.

    Frozen parameters (`requires_grad` false) have their place in the vector, but no part here.
    """
    pairs = zip(layout(model), model.parameters(), strict=True)
    return [
        torch.tensor(vector[segment.span]).view(segment.shape)
        for segment, parameter in pairs
        if parameter.requires_grad
    ]


def join_parts(model: nn.Module, parts: Sequence[Tensor]) -> FlatVector:
    """The inverse of `trainable_parts`: a flat vector [P] with zeros for what is frozen."""
    remaining = iter(parts)
    pieces = [
        next(remaining).reshape(-1) if parameter.requires_grad else torch.zeros(parameter.numel())
        for parameter in model.parameters()
    ]
    vector: FlatVector = torch.cat(pieces).float().numpy()
    return vector
