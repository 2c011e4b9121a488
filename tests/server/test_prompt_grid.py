"""The grid over real sites: replies soon, no wait without a bound, no message lost or doubled."""

import time

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp

from server.inprocess import InProcessGrid
from server.prompt_grid import POLL_SECONDS, PromptGrid

app = ClientApp()


@app.query()
def query(message, context):
    return Message(RecordDict({"config": ConfigRecord({"it": 1})}), reply_to=message)


class SlowGrid(InProcessGrid):
    """One whose nodes answer, one after another, only when they are asked for a third time."""

    def __init__(self, silent=()):
        super().__init__(app, [{}, {}, {}], {})
        self.asked, self.silent = 0, silent

    def push_messages(self, messages):
        """As Flower's: None in the place of one that can't be sent."""
        ids = super().push_messages(messages)
        return [*ids[:-1], None] if "unsent" in self.silent else ids

    def pull_messages(self, message_ids):
        self.asked += 1
        ids = sorted(message_ids)
        return super().pull_messages(ids[:1] if self.asked > 2 and not self.silent else [])


def messages(grid):
    return [
        Message(RecordDict(), dst_node_id=node, message_type=MessageType.QUERY)
        for node in grid.get_node_ids()
    ]


def test_it_asks_again_until_every_reply_is_there():
    slow = SlowGrid()
    grid = PromptGrid(slow)
    began = time.monotonic()
    replies = list(grid.send_and_receive(messages(grid), timeout=60))
    assert sorted(reply.metadata.src_node_id for reply in replies) == [2, 3, 4]
    assert slow.asked == 5
    assert 4 * POLL_SECONDS <= time.monotonic() - began < 3


def test_it_ends_at_its_limit():
    grid = PromptGrid(SlowGrid(silent=("all",)))
    began = time.monotonic()
    assert list(grid.send_and_receive(messages(grid), timeout=0.5)) == []
    assert 0.5 <= time.monotonic() - began < 3


def test_a_message_that_could_not_be_sent_is_not_waited_for():
    slow = SlowGrid(silent=("unsent",))
    grid = PromptGrid(slow)
    sent = messages(grid)[:1]
    began = time.monotonic()
    assert list(grid.send_and_receive(sent, timeout=60)) == []
    assert time.monotonic() - began < 3
