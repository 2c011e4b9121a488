"""Updates as they come back from clients: checked, named by site, in roster order."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord, Message
from numpy.typing import NDArray

from fglguard.errors import UpdateError
from strategies.cohort import Member

PARAMETERS = "parameters"
"""Name of the one array of an `arrays` record: every parameter in one flat float32 vector."""


@dataclass(frozen=True, slots=True)
class Update:
    """What one client returned from one round of training.

    Attributes:
        member: Whose it is.
        parameters: The client's parameters after local training, float32 [P].
        nodes: Graph nodes it trained on, its weight.
        metrics: Losses, norms and counts.
    """

    member: Member
    parameters: NDArray[np.float32]
    nodes: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Failure:
    """A client whose reply can't be used, and why."""

    member: Member
    reason: str


def pack_parameters(parameters: NDArray[np.float32]) -> ArrayRecord:
    """The `arrays` record that carries a flat parameter vector."""
    return ArrayRecord({PARAMETERS: Array(parameters)})


def unpack_parameters(arrays: ArrayRecord) -> NDArray[np.float32]:
    """The flat parameter vector of an `arrays` record.

    Raises:
        UpdateError: The record does not hold exactly that one array, or it is not float32.
    """
    if list(arrays) != [PARAMETERS]:
        raise UpdateError(f"expected one array named {PARAMETERS!r}, got {sorted(arrays)}")
    vector = arrays[PARAMETERS].numpy()
    if vector.dtype != np.float32 or vector.ndim != 1:
        raise UpdateError(
            f"expected a flat float32 vector, got {vector.dtype} of shape {vector.shape}"
        )
    return vector


def read_update(reply: Message, member: Member, size: int) -> Update:
    """Read and check a train reply.

    Args:
        reply: What the client sent back.
        member: Who it is.
        size: Number of parameters of the global model.

    Raises:
        UpdateError: The client reported an error, or its update has another shape, is not finite,
            or does not say how many nodes it was trained on.
    """
    if reply.has_error():
        raise UpdateError(reply.error.reason)
    content = reply.content
    if set(content.array_records) != {"arrays"} or set(content.metric_records) != {"metrics"}:
        raise UpdateError(
            f"expected the records 'arrays' and 'metrics', got {sorted(content.keys())}"
        )
    parameters = unpack_parameters(content.array_records["arrays"])
    if parameters.shape != (size,):
        raise UpdateError(f"expected {size} parameters, got {parameters.shape[0]}")
    if not np.isfinite(parameters).all():
        bad = int(np.count_nonzero(~np.isfinite(parameters)))
        raise UpdateError(f"expected finite parameters, got {bad} that are NaN or infinite")
    metrics = content.metric_records["metrics"]
    nodes = metrics.get("nodes")
    if not isinstance(nodes, int) or nodes < 1:
        raise UpdateError(f"metrics.nodes: expected a whole number above 0, got {nodes!r}")
    numbers = {k: float(v) for k, v in metrics.items() if isinstance(v, int | float)}
    return Update(member, parameters, nodes, numbers)
