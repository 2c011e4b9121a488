"""A model's parameters as one flat float32 vector: what a client sends and a server averages."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fglguard.errors import UpdateError


@dataclass(frozen=True, slots=True)
class Segment:
    """Where one parameter lies in the flat vector: [start, start + size).

    Attributes:
        name: The parameter's name in `named_parameters()`.
        shape: Its shape; the segment holds it in row-major order.
        start: First index.
    """

    name: str
    shape: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def span(self) -> slice:
        """Its part of the vector."""
        return slice(self.start, self.start + self.size)


def layout(model: nn.Module) -> tuple[Segment, ...]:
    """The segments of `flatten(model)`, in order and without gaps."""
    segments = []
    start = 0
    for name, parameter in model.named_parameters():
        segments.append(Segment(name, tuple(parameter.shape), start))
        start += parameter.numel()
    return tuple(segments)


def flatten(model: nn.Module) -> NDArray[np.float32]:
    """Copy all parameters, in the order of `named_parameters()`, into one vector [P]."""
    with torch.no_grad():
        parts = [parameter.reshape(-1) for parameter in model.parameters()]
        vector: NDArray[np.float32] = torch.cat(parts).float().cpu().numpy()
    return vector


def load_flat(model: nn.Module, vector: NDArray[np.float32], where: str) -> None:
    """Copy a flat vector [P] into the model's parameters, in place.

    Args:
        model: Takes the values; its layout says which number goes where.
        vector: float32, as `flatten` gives it.
        where: Whose vector it is, for the error, e.g. `site-3, round 12`.

    Raises:
        UpdateError: The vector has another type or size, or holds NaN or infinity. The model is
            left as it was.
    """
    segments = layout(model)
    check_flat(vector, sum(segment.size for segment in segments), where)
    with torch.no_grad():
        for segment, parameter in zip(segments, model.parameters(), strict=True):
            part = np.ascontiguousarray(vector[segment.span]).reshape(segment.shape)
            parameter.copy_(torch.tensor(part))


def check_flat(vector: NDArray[np.float32], size: int, where: str) -> None:
    """Raise UpdateError, naming `where`, unless `vector` is a finite float32 vector [size]."""
    if not isinstance(vector, np.ndarray) or vector.dtype != np.float32:
        kind = vector.dtype if isinstance(vector, np.ndarray) else type(vector).__name__
        raise UpdateError(f"{where}: expected a float32 vector, got {kind}")
    if vector.shape != (size,):
        raise UpdateError(f"{where}: expected {size} parameters, got shape {vector.shape}")
    finite = np.isfinite(vector)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise UpdateError(
            f"{where}: expected finite parameters, got {len(bad)} NaN or infinite, "
            f"the first at index {bad[0]}"
        )


def vector_length(vector: NDArray[np.float64]) -> float:
    """||v||, the same bits on every machine and at any number of threads.

    `numpy.linalg.norm` takes a dot product from BLAS, whose threads each sum a part; here numpy's
    own pairwise sum, which has one order.
    """
    return math.sqrt(float(np.square(vector).sum()))
