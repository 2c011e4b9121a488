"""Messages on their way to a worker; what they have in common travels once.

All messages of a round carry the same global model. Each worker gets it once, and each message
only says which of its arrays hold which of the common data.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from flwr.app import Message

from server.flower_internals import from_wire, to_wire

COMMON, MESSAGE = b"common", b"message"


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message in its wire form.

    Attributes:
        message_id: Id of the message.
        client: Number of the client it goes to.
        proto: The message without its arrays' data.
        arrays: Each array's data, or the number of the common data that it holds.
        common: The common data by number; one mapping for all parcels of a push.
    """

    message_id: str
    client: int
    proto: bytes
    arrays: Sequence[bytes | int]
    common: Mapping[int, bytes]

    def frame(self) -> list[bytes]:
        """What is sent for it, the common data being there already."""
        numbers = [entry if isinstance(entry, int) else None for entry in self.arrays]
        own = [entry for entry in self.arrays if isinstance(entry, bytes)]
        return [MESSAGE, json.dumps(numbers).encode(), self.proto, *own]

    def common_frame(self) -> list[bytes]:
        """What puts its push's common data in place of an earlier push's."""
        return [COMMON, json.dumps(list(self.common)).encode(), *self.common.values()]


class Packer:
    """Turns pushes of messages into parcels."""

    def __init__(self) -> None:
        self._numbers = count()

    def pack(self, messages: Sequence[tuple[int, Message]]) -> list[Parcel]:
        """Parcels of (client, message) pairs; data that several messages share is made common."""
        wired = [(client, m.metadata.message_id, *to_wire(m)) for client, m in messages]
        uses = Counter(id(data) for *_, arrays in wired for data in arrays)
        numbers: dict[int, int] = {}
        common: dict[int, bytes] = {}
        for *_, arrays in wired:
            for data in arrays:
                if uses[id(data)] > 1 and id(data) not in numbers:
                    numbers[id(data)] = number = next(self._numbers)
                    common[number] = data
        return [
            Parcel(key, client, proto, [numbers.get(id(data), data) for data in arrays], common)
            for client, key, proto, arrays in wired
        ]


@dataclass
class Unpacker:
    """A worker's side: keeps the common data of the current push."""

    _common: dict[int, bytes] = field(default_factory=dict)

    def unpack(self, frame: Sequence[bytes]) -> Message | None:
        """The frame's message; None for a frame of common data, which is kept.

        Raises:
            ValueError: The frame is of no known kind.
        """
        kind, numbers = frame[0], json.loads(frame[1])
        if kind == COMMON:
            self._common = dict(zip(numbers, frame[2:], strict=True))
            return None
        if kind != MESSAGE:
            raise ValueError(f"expected a frame {COMMON!r} or {MESSAGE!r}, got {kind!r}")
        own = iter(frame[3:])
        arrays = [next(own) if number is None else self._common[number] for number in numbers]
        return from_wire(frame[2], arrays)
