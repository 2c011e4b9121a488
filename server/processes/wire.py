"""Frames over a stream socket: a list of byte strings, each with its length before it."""

import socket
import struct
from collections.abc import Sequence

_COUNT = struct.Struct("!I")
_LENGTH = struct.Struct("!Q")


class ChannelClosed(Exception):
    """The other side is gone."""


def send_frame(channel: socket.socket, parts: Sequence[bytes]) -> None:
    """Send one frame.

    Raises:
        ChannelClosed: The other side is gone.
        TimeoutError: It did not take the frame within the channel's time limit.
    """
    try:
        channel.sendall(
            _COUNT.pack(len(parts)) + b"".join(_LENGTH.pack(len(part)) for part in parts)
        )
        for part in parts:
            channel.sendall(part)
    except (BrokenPipeError, ConnectionResetError):
        raise ChannelClosed from None


def receive_frame(channel: socket.socket) -> list[bytes]:
    """Receive one frame.

    Raises:
        ChannelClosed: The other side is gone.
        TimeoutError: The frame was not there in full within the channel's time limit.
    """
    (count,) = _COUNT.unpack(_receive(channel, _COUNT.size))
    lengths = _receive(channel, count * _LENGTH.size)
    return [_receive(channel, length) for (length,) in _LENGTH.iter_unpack(lengths)]


def _receive(channel: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        try:
            got = channel.recv_into(rest)
        except ConnectionResetError:
            raise ChannelClosed from None
        if not got:
            raise ChannelClosed
        rest = rest[got:]
    return bytes(data)
