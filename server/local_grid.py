"""What the grids of a simulation on this machine share: nodes, contexts, delivery to a client."""

import logging
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fglguard.errors import FederationError
from server.flower_internals import APP_RAISED, SERVER_NODE, Run, assign_id, begin_run

logger = logging.getLogger("fglguard")

NodeConfigs = Sequence[Mapping[str, Any]]


class LocalGrid(Grid):
    """A grid whose nodes live on this machine, without a SuperLink.

    Args:
        client_app: What each node runs.
        node_configs: One node config a client.
        run_config: The run's flat configuration.
    """

    def __init__(
        self, client_app: ClientApp, node_configs: NodeConfigs, run_config: Mapping[str, Any]
    ) -> None:
        self._run = begin_run()
        self._client_app = client_app
        self._run_config = dict(run_config)
        self._node_configs = {
            SERVER_NODE + 1 + index: dict(config) for index, config in enumerate(node_configs)
        }
        self._replies: dict[str, Message] = {}

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
        return list(self._node_configs)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Hand out the replies that are there to these messages, each once."""
        return [self._replies.pop(i) for i in message_ids if i in self._replies]

    def new_context(self, node: int) -> Context:
        """A node's context, with nothing in its state."""
        return Context(
            run_id=self._run.run_id,
            node_id=node,
            node_config=dict(self._node_configs[node]),
            state=RecordDict(),
            run_config=dict(self._run_config),
        )

    def _identified(self, messages: Iterable[Message]) -> list[Message]:
        """The messages, each with an id and to a node that there is."""
        addressed = list(messages)
        for message in addressed:
            assign_id(message)
            node = message.metadata.dst_node_id
            if node not in self._node_configs:
                raise FederationError(
                    f"a message to node {node}: expected one of the {len(self._node_configs)} "
                    f"nodes of this simulation"
                )
        return addressed


def deliver(client_app: ClientApp, message: Message, context: Context) -> Message:
    """Hand a message to a client app; an exception becomes an error reply, as over a network."""
    try:
        return client_app(message=message, context=context)
    except Exception as error:
        logger.exception("node %d: the client app raised", context.node_id)
        reason = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
        return Message(Error(APP_RAISED, reason), reply_to=message)


def partitions(run_config: Mapping[str, Any]) -> NodeConfigs:
    """Node configs of a simulation with `federation.clients` clients."""
    clients = int(run_config["federation.clients"])
    return [{"partition-id": index, "num-partitions": clients} for index in range(clients)]


def serve(server_app: ServerApp, grid: LocalGrid, run_config: Mapping[str, Any]) -> None:
    """Run a ServerApp over a grid to its end."""
    context = Context(
        run_id=grid.run.run_id,
        node_id=SERVER_NODE,
        node_config={},
        state=RecordDict(),
        run_config=dict(run_config),
    )
    server_app(grid=grid, context=context)
