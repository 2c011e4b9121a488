"""Messages on their way to a worker; what they have in common travels once.

All messages of a round carry the same global model. Each worker gets it once, and each message
only says which of its records is which of the common ones.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flwr.app import ArrayRecord, Message

from server.flower_internals import (
    message_bytes,
    message_from_bytes,
    record_bytes,
    record_copy,
    record_from_bytes,
)

COMMON, MESSAGE = b"common", b"message"


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message in its wire form.

    Attributes:
        message_id: Id of the message.
        client: Number of the client it goes to.
        message: The message without its common records.
        records: Number of the common record that stands for a record, by the record's name.
        common: The common records' wire forms by number; shared by all parcels of a push.
    """

    message_id: str
    client: int
    message: bytes
    records: Mapping[str, int]
    common: Mapping[int, bytes]

    def frame(self) -> list[bytes]:
        """What is sent after the common records."""
        return [MESSAGE, json.dumps(self.records).encode(), self.message]


class Packer:
    """Turns pushes of messages into parcels."""

    def __init__(self) -> None:
        self._next = 0

    def pack(self, messages: Sequence[tuple[int, Message]]) -> list[Parcel]:
        """Parcels of (client, message) pairs; a record that several share is made common."""
        uses = Counter(
            id(record) for _, m in messages for record in m.content.array_records.values()
        )
        numbers: dict[int, int] = {}
        common: dict[int, bytes] = {}
        parcels = []
        for client, message in messages:
            records = {}
            for name, record in message.content.array_records.items():
                if uses[id(record)] < 2:
                    continue
                if id(record) not in numbers:
                    numbers[id(record)] = self._next
                    common[self._next] = record_bytes(record)
                    self._next += 1
                records[name] = numbers[id(record)]
            data = message_bytes(message, records.keys())
            parcels.append(Parcel(message.metadata.message_id, client, data, records, common))
        return parcels


@dataclass
class Unpacker:
    """A worker's side: keeps the common records of the current push."""

    _common: dict[int, ArrayRecord] = field(default_factory=dict)

    def unpack(self, frame: Sequence[bytes]) -> Message | None:
        """The frame's message; None for a frame of common records, which are kept.

        Raises:
            ValueError: The frame is of no known kind.
        """
        if frame[0] == COMMON:
            numbers = json.loads(frame[1])
            self._common = dict(zip(numbers, map(record_from_bytes, frame[2:]), strict=True))
            return None
        if frame[0] != MESSAGE:
            raise ValueError(f"expected a frame {COMMON!r} or {MESSAGE!r}, got {frame[0]!r}")
        records = json.loads(frame[1])
        own = {name: record_copy(self._common[number]) for name, number in records.items()}
        return message_from_bytes(frame[2], own)


def common_frame(common: Mapping[int, bytes]) -> list[bytes]:
    """The frame that puts a push's common records in place of the last one's."""
    return [COMMON, json.dumps(list(common)).encode(), *common.values()]
