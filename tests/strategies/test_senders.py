"""Whom a reply speaks for."""

from flwr.app import ConfigRecord, Error, Message, MessageType, RecordDict

from server.flower_internals import SERVER_NODE, assign_id, begin_run
from strategies.senders import sender_of


def ask(node):
    content = RecordDict({"config": ConfigRecord({"node": str(node)})})
    message = Message(content, dst_node_id=node, message_type=MessageType.QUERY)
    assign_id(message)
    return message


def test_the_superlinks_error_speaks_for_the_node_that_was_asked():
    """It comes from the server's own node id, as Flower's SuperLink makes it."""
    begin_run()
    asked = [ask(7), ask(8)]
    error = Message(Error(3, "Node Unavailable"), reply_to=asked[1])
    error.metadata.__dict__["_src_node_id"] = SERVER_NODE
    assert sender_of(error, asked) == 8


def test_a_reply_with_content_comes_from_its_own_node():
    begin_run()
    asked = [ask(7), ask(8)]
    assert sender_of(Message(RecordDict(), reply_to=asked[0]), asked) == 7


def test_an_error_that_answers_nothing_speaks_for_its_sender():
    begin_run()
    stray = Message(Error(3, "?"), reply_to=ask(9))
    assert sender_of(stray, [ask(7)]) == 9
