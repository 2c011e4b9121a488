"""All that fglguard uses of Flower beyond its public API, in one place.

Written against flwr 1.42.0, which `pyproject.toml` pins. `tests/server/test_flower_internals.py`
names what a newer release has broken.
"""

import random
import uuid
from collections.abc import Sequence

from flwr.app import Array, ArrayRecord, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.common.serde import message_from_proto, recorddict_to_proto
from flwr.common.serde_utils import error_to_proto, metadata_to_proto
from flwr.proto.message_pb2 import Message as ProtoMessage
from flwr.supercore.constant import NOOP_FEDERATION_ID
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

__all__ = [
    "APP_CRASHED",
    "APP_RAISED",
    "SERVER_NODE",
    "Run",
    "assign_id",
    "begin_run",
    "from_wire",
    "to_wire",
    "wire_copy",
]

SERVER_NODE = 1
"""Node id of the server in a local run; clients' ids follow it."""

APP_RAISED: int = ErrorCode.CLIENT_APP_RAISED_EXCEPTION
APP_CRASHED: int = ErrorCode.CLIENT_APP_CRASHED


def begin_run() -> Run:
    """A new run in this process; `Message` refuses to be made outside of one."""
    run = Run.create_empty(run_id=random.SystemRandom().getrandbits(62))
    run.federation_id = NOOP_FEDERATION_ID
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = run.run_id, SERVER_NODE, 1
    return run


def assign_id(message: Message) -> str:
    """Give a message the id that a SuperLink would give it."""
    message.metadata.__dict__["_message_id"] = str(uuid.uuid4())
    return message.metadata.message_id


def to_wire(message: Message) -> tuple[bytes, list[bytes]]:
    """A message's protobuf form without its arrays' data, and that data, array by array.

    Inside the protobuf form each array would be copied five times on its way.
    """
    content = None
    data: list[bytes] = []
    if message.has_content():
        records = dict(message.content.items())
        for name, record in message.content.array_records.items():
            data += [array.data for array in record.values()]
            records[name] = ArrayRecord(
                {key: Array(a.dtype, a.shape, a.stype, b"") for key, a in record.items()}
            )
        content = recorddict_to_proto(RecordDict(records))
    error = error_to_proto(message.error) if message.has_error() else None
    proto = ProtoMessage(metadata=metadata_to_proto(message.metadata), content=content, error=error)
    return proto.SerializeToString(), data


def from_wire(proto: bytes, data: Sequence[bytes]) -> Message:
    """The message of a wire form.

    Raises:
        ValueError: There is not one piece of data for each array.
    """
    message = message_from_proto(ProtoMessage.FromString(proto))
    records = message.content.array_records.values() if message.has_content() else ()
    arrays = [array for record in records for array in record.values()]
    for array, own in zip(arrays, data, strict=True):
        array.data = own
    return message


def wire_copy(message: Message) -> Message:
    """The message as its receiver gets it: equal, and sharing nothing that can be changed."""
    return from_wire(*to_wire(message))
