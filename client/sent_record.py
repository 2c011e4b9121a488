"""What a reply consists of, for the owner of what it was made from: names, sizes, hashes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from flwr.app import ArrayRecord, Context, Message, MetricRecord

Described = dict[str, Any]


class _Piece(Protocol):
    """What Flower serialises by itself and refers to by the SHA-256 of those bytes."""

    @property
    def object_id(self) -> str: ...
    @property
    def children(self) -> Mapping[str, "_Piece"] | None: ...
    def deflate(self) -> bytes: ...


def sent_record(message: Message, reply: Message, context: Context) -> Described:
    """One line of a site's log of what left it.

    Sizes are those of the pieces that Flower sends, after serialisation, without HTTP and TLS
    around them; `bytes` are those of the reply, `received` those of what was asked. A record's
    `sha256` is that of its serialised form, in which the pieces it is made of are named by theirs,
    so that it tells of every byte; it is the object id that Flower sends.

    Args:
        message: What was asked.
        reply: What is about to be returned.
        context: Of the node.
    """
    asked = message.content.config_records.get("config", {}) if message.has_content() else {}
    line: Described = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "run": context.run_id,
        "round": int(asked.get("round", 0)),
        "type": message.metadata.message_type,
        "bytes": sum(_pieces(reply).values()),
        "received": sum(_pieces(message).values()),
        "records": [],
    }
    if reply.has_error():
        line["error"] = {"code": reply.error.code, "reason": reply.error.reason}
        return line
    line["records"] = [_described(name, record) for name, record in reply.content.items()]
    return line


def _described(name: str, record: Any) -> Described:
    told: Described = {
        "name": name,
        "kind": type(record).__name__,
        "bytes": sum(_pieces(record).values()),
        "sha256": record.object_id,
    }
    if isinstance(record, ArrayRecord):
        told["arrays"] = [
            {
                "name": key,
                "dtype": array.dtype,
                "shape": list(array.shape),
                "numbers": _numbers(array.shape),
            }
            for key, array in record.items()
        ]
    elif isinstance(record, MetricRecord):
        told["values"] = dict(record)
    else:
        told["names"] = sorted(record)
    return told


def _numbers(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def _pieces(piece: _Piece) -> dict[str, int]:
    """Bytes of every piece by its id; one that stands in two places is sent once."""
    found = {piece.object_id: len(piece.deflate())}
    for child in (piece.children or {}).values():
        found |= _pieces(child)
    return found
