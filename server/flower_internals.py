"""All that fglguard uses of Flower beyond its public API, in one place.

Written against flwr 1.42.0, which `pyproject.toml` pins. `tests/server/test_flower_internals.py`
names what a newer release has broken.
"""

import random
import uuid
from collections.abc import Collection, Mapping

from flwr.app import Array, ArrayRecord, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.common.serde import (
    array_record_from_proto,
    array_record_to_proto,
    message_from_proto,
    message_to_proto,
    recorddict_from_proto,
    recorddict_to_proto,
)
from flwr.common.serde_utils import metadata_to_proto
from flwr.proto.message_pb2 import Message as ProtoMessage
from flwr.proto.recorddict_pb2 import ArrayRecord as ProtoArrayRecord
from flwr.supercore.constant import NOOP_FEDERATION_ID
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

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


def wire_copy(message: Message) -> Message:
    """The message as its receiver gets it: equal, and sharing nothing that can be changed."""
    return message_from_proto(message_to_proto(message))


def content_copy(content: RecordDict) -> RecordDict:
    """Records as their receiver gets them."""
    return recorddict_from_proto(recorddict_to_proto(content))


def message_bytes(message: Message, without: Collection[str] = ()) -> bytes:
    """A message's wire form; records named in `without` are left out."""
    if not without:
        return message_to_proto(message).SerializeToString()
    rest = RecordDict({k: record for k, record in message.content.items() if k not in without})
    proto = ProtoMessage(
        metadata=metadata_to_proto(message.metadata), content=recorddict_to_proto(rest)
    )
    return proto.SerializeToString()


def message_from_bytes(data: bytes, records: Mapping[str, ArrayRecord] | None = None) -> Message:
    """The message of a wire form, with the records that were left out put back."""
    message = message_from_proto(ProtoMessage.FromString(data))
    for name, record in (records or {}).items():
        message.content[name] = record
    return message


def record_bytes(record: ArrayRecord) -> bytes:
    """An array record's wire form."""
    return array_record_to_proto(record).SerializeToString()


def record_from_bytes(data: bytes) -> ArrayRecord:
    """The array record of a wire form."""
    return array_record_from_proto(ProtoArrayRecord.FromString(data))


def record_copy(record: ArrayRecord) -> ArrayRecord:
    """A record of its own over the same bytes, which can't be changed."""
    return ArrayRecord(
        {name: Array(a.dtype, a.shape, a.stype, a.data) for name, a in record.items()}
    )
