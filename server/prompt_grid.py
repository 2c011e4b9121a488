"""A grid over real sites that looks for replies four times a second, not every three seconds."""

import time
from collections.abc import Iterable

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from server.flower_internals import Run

POLL_SECONDS = 0.25


class PromptGrid(Grid):
    """Flower's grid to a SuperLink; only how often it asks for replies is another.

    Args:
        grid: Flower's.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def set_run(self, run: Run) -> None:
        """Set the run this grid works in."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run this grid works in."""
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Make a message; kept for callers of the older form."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        """Ids of the nodes that are connected."""
        return self._grid.get_node_ids()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Hand messages to the SuperLink."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Take the replies that are there to these messages, each once."""
        return self._grid.pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages and return the replies that come within `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        # Of a message that could not be sent there is no id, and will be no reply.
        missing = {one for one in self.push_messages(list(messages)) if one is not None}
        replies: list[Message] = []
        while missing and (deadline is None or time.monotonic() < deadline):
            came = list(self.pull_messages(missing))
            replies += came
            missing -= {reply.metadata.reply_to_message_id for reply in came}
            if missing:
                time.sleep(POLL_SECONDS)
        return replies
