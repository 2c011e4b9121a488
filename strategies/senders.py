"""Whom a reply comes from, where the SuperLink answers in a node's stead too."""

from collections.abc import Iterable

from flwr.app import Message


def sender_of(reply: Message, asked: Iterable[Message]) -> int:
    """The node that a reply speaks for.

    Of a node that is gone, or whose message has expired, the SuperLink itself returns an error,
    under its own node id: whom it speaks of follows from the message that it answers. A reply with
    content comes from the node that it says it comes from, which the SuperLink has compared with
    the node that was asked.

    Args:
        reply: What came.
        asked: What was sent; a grid gives each message its id when it sends it.
    """
    if reply.has_error():
        for message in asked:
            if message.metadata.message_id == reply.metadata.reply_to_message_id:
                return message.metadata.dst_node_id
    return reply.metadata.src_node_id
