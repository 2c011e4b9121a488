"""The record of arrays that a reply must hold."""

from collections.abc import Mapping

from flwr.app import Array, Message

from fglguard.errors import UpdateError


def arrays_of(reply: Message, record: str) -> Mapping[str, Array]:
    """The arrays of one record, by name; they are not checked.

    Args:
        reply: What a client sent back.
        record: The record's name.

    Raises:
        UpdateError: The client reported an error, or there is no such record.
    """
    if reply.has_error():
        raise UpdateError(reply.error.reason)
    records = reply.content.array_records
    if record not in records:
        raise UpdateError(f"expected a record {record!r}, got {sorted(reply.content.keys())}")
    return records[record]
