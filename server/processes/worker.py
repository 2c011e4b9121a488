"""A worker's life: one message after another through the client app."""

import socket
from collections.abc import Callable

import torch
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp

from server.flower_internals import APP_RAISED, to_wire
from server.local_grid import deliver
from server.processes.parcels import Unpacker
from server.processes.wire import ChannelClosed, receive_frame, send_frame


def serve_messages(
    channel: socket.socket, client_app: ClientApp, new_context: Callable[[int], Context]
) -> None:
    """Answer each message on the channel until it closes."""
    torch.set_num_threads(1)
    unpacker = Unpacker()
    while True:
        try:
            message = unpacker.unpack(receive_frame(channel))
            if message is not None:
                reply = answer(client_app, message, new_context(message.metadata.dst_node_id))
                proto, arrays = to_wire(reply)
                send_frame(channel, [proto, *arrays])
        except ChannelClosed:
            return


def answer(client_app: ClientApp, message: Message, context: Context) -> Message:
    """The client app's reply, or an error reply."""
    reply = deliver(client_app, message, context)
    if len(context.state):
        # The next message may go to another worker, where this state would silently be missing.
        return Message(
            Error(
                APP_RAISED,
                "the client app put something into context.state, which worker processes do not "
                "keep; keep a client's state in a file, or take another federation.backend",
            ),
            reply_to=message,
        )
    return reply
