"""Updates as they come back from clients: checked, named by site, in roster order."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Message
from numpy.typing import NDArray

from fglguard.errors import UpdateError
from fglguard.parameters import check_flat
from strategies.cohort import Member

FlatVector = NDArray[np.float32]

PARAMETERS = "parameters"
"""Name of the array that holds every parameter in one flat float32 vector [P].

An `arrays` record may hold more vectors beside it, each [P], under names of the strategy's own.
"""


@dataclass(frozen=True, slots=True)
class Update:
    """What one client returned from one round of training.

    Attributes:
        member: Whose it is.
        parameters: The client's parameters after local training, float32 [P].
        nodes: Graph nodes it trained on, its weight.
        metrics: Losses, norms and counts.
        exports: What the strategy asked for besides, each float32 [P], by name.
    """

    member: Member
    parameters: FlatVector
    nodes: int
    metrics: Mapping[str, float]
    exports: Mapping[str, FlatVector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A client whose reply can't be used, and why."""

    member: Member
    reason: str


def pack_parameters(
    parameters: FlatVector, others: Mapping[str, FlatVector] | None = None
) -> ArrayRecord:
    """The `arrays` record that carries a flat parameter vector, and others beside it."""
    return ArrayRecord(
        {name: Array(vector) for name, vector in {PARAMETERS: parameters, **(others or {})}.items()}
    )


def unpack_vectors(arrays: ArrayRecord, others: Sequence[str] = ()) -> dict[str, FlatVector]:
    """The vectors of an `arrays` record by name: `parameters`, then those named in `others`.

    Raises:
        UpdateError: The record holds other arrays than these, or one is not a flat float32 vector
            as long as `parameters`.
    """
    wanted = [PARAMETERS, *others]
    if sorted(arrays) != sorted(wanted):
        raise UpdateError(f"expected the arrays {sorted(wanted)}, got {sorted(arrays)}")
    vectors = {name: to_numpy(arrays[name], name) for name in wanted}
    size = vectors[PARAMETERS].shape
    for name, vector in vectors.items():
        if vector.dtype != np.float32 or vector.ndim != 1:
            raise UpdateError(
                f"{name}: expected a flat float32 vector, got {vector.dtype} of shape "
                f"{vector.shape}"
            )
        if vector.shape != size:
            raise UpdateError(f"{name}: expected {size[0]} numbers, got {vector.shape[0]}")
    return vectors


def to_numpy(array: Array, name: str) -> NDArray[Any]:
    """The array that a record carries.

    Raises:
        UpdateError: Its bytes are no array, or a header claims more than they hold, which would
            otherwise end the run at the server.
    """
    try:
        with io.BytesIO(array.data) as data:
            version = np.lib.format.read_magic(data)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else None
            if read is None:
                raise ValueError(f"format {version}")
            shape, _, dtype = read(data)
            if math.prod(shape) * dtype.itemsize != len(array.data) - data.tell():
                raise ValueError(f"shape {shape}")
        return array.numpy()
    except (ValueError, TypeError, EOFError, OSError, OverflowError) as error:
        raise UpdateError(f"{name}: expected a serialised array, got bytes of no array") from error


def unpack_parameters(arrays: ArrayRecord) -> FlatVector:
    """The flat parameter vector of an `arrays` record that holds nothing else.

    Raises:
        UpdateError: The record does not hold exactly that one array, or it is not float32.
    """
    return unpack_vectors(arrays)[PARAMETERS]


def read_update(reply: Message, member: Member, size: int, exports: Sequence[str] = ()) -> Update:
    """Read and check a train reply.

    Args:
        reply: What the client sent back.
        member: Who it is.
        size: Number of parameters of the global model.
        exports: Names of the vectors that must come beside the parameters.

    Raises:
        UpdateError: The client reported an error, or its update has another shape, is not finite,
            or its metrics are not finite numbers, or it does not say how many nodes it was
            trained on.
    """
    if reply.has_error():
        raise UpdateError(reply.error.reason)
    content = reply.content
    if set(content.array_records) != {"arrays"} or set(content.metric_records) != {"metrics"}:
        raise UpdateError(
            f"expected the records 'arrays' and 'metrics', got {sorted(content.keys())}"
        )
    vectors = unpack_vectors(content.array_records["arrays"], exports)
    for name, vector in vectors.items():
        check_flat(vector, size, name)
    metrics = content.metric_records["metrics"]
    nodes = metrics.get("nodes")
    if not isinstance(nodes, int) or nodes < 1:
        raise UpdateError(f"metrics.nodes: expected a whole number above 0, got {nodes!r}")
    numbers = {k: float(v) for k, v in metrics.items() if isinstance(v, int | float)}
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise UpdateError(f"metrics.{name[:60]}: expected a finite number, got {value}")
    return Update(member, vectors.pop(PARAMETERS), nodes, numbers, vectors)
