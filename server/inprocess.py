"""A simulation inside this process: the same ServerApp, strategy and ClientApp, without Ray."""

import logging
import random
import traceback
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.serverapp import Grid, ServerApp
from flwr.supercore.constant import NOOP_FEDERATION_ID
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

logger = logging.getLogger("fglguard")

SERVER_NODE = 1


class InProcessGrid(Grid):
    """A grid whose nodes live in this process, one `Context` each.

    Messages are cloned through their wire form, so that nothing a client does to a record reaches
    the server or another client, and an exception becomes an error reply, as over a network.

    Args:
        client_app: What each node runs.
        node_configs: One node config a client.
        run_config: The run's flat configuration.
    """

    def __init__(
        self,
        client_app: ClientApp,
        node_configs: Sequence[Mapping[str, Any]],
        run_config: Mapping[str, Any],
    ) -> None:
        run_id = random.SystemRandom().getrandbits(62)
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = run_id, SERVER_NODE, 1
        self._run = Run.create_empty(run_id=run_id)
        self._run.federation_id = NOOP_FEDERATION_ID
        self._client_app = client_app
        self._replies: dict[str, Message] = {}
        self._contexts = {
            SERVER_NODE + 1 + index: Context(
                run_id=run_id,
                node_id=SERVER_NODE + 1 + index,
                node_config=dict(node_config),
                state=RecordDict(),
                run_config=dict(run_config),
            )
            for index, node_config in enumerate(node_configs)
        }

    def set_run(self, run: Run) -> None:
        """Set the run this grid works in."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run this grid works in."""
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Make a message; kept for callers of the older form."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """Ids of all nodes."""
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Deliver messages at once, one after another, and keep the replies."""
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid.uuid4())
            ids.append(message.metadata.message_id)
            self._replies[ids[-1]] = self._deliver(message)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Hand out the replies to these messages, each once."""
        return [self._replies.pop(i) for i in message_ids if i in self._replies]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Deliver messages and return their replies; nothing is waited for."""
        return self.pull_messages(self.push_messages(messages))

    def _deliver(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        delivered = Message(
            _clone(message.content), dst_node_id=node, message_type=message.metadata.message_type
        )
        delivered.metadata.__dict__["_message_id"] = message.metadata.message_id
        try:
            reply = self._client_app(message=delivered, context=self._contexts[node])
            if reply.has_content():
                reply.content = _clone(reply.content)
            return reply
        except Exception:
            logger.exception("node %d: the client app raised", node)
            error = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, traceback.format_exc())
            return Message(error, reply_to=delivered)


def simulate(
    server_app: ServerApp,
    client_app: ClientApp,
    run_config: Mapping[str, Any],
    node_configs: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Run a ServerApp over clients in this process.

    Args:
        server_app: What the server runs.
        client_app: What each client runs.
        run_config: The run's flat configuration.
        node_configs: One a client; by default the partitions of a simulation with
            `federation.clients` clients.
    """
    if node_configs is None:
        clients = int(run_config["federation.clients"])
        node_configs = [
            {"partition-id": index, "num-partitions": clients} for index in range(clients)
        ]
    grid = InProcessGrid(client_app, node_configs, run_config)
    context = Context(
        run_id=grid.run.run_id,
        node_id=SERVER_NODE,
        node_config={},
        state=RecordDict(),
        run_config=dict(run_config),
    )
    server_app(grid=grid, context=context)


def _clone(content: RecordDict) -> RecordDict:
    return recorddict_from_proto(recorddict_to_proto(content))
