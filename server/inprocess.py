"""A simulation inside this process: the same ServerApp, strategy and ClientApp, without Ray."""

from collections.abc import Iterable, Mapping
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from server.flower_internals import wire_copy
from server.local_grid import LocalGrid, NodeConfigs, deliver, partitions, serve


class InProcessGrid(LocalGrid):
    """A grid whose nodes live in this process, one `Context` each.

    Messages are copied through their wire form, so that nothing a client does to a record reaches
    the server or another client, and an exception becomes an error reply, as over a network.

    Args:
        client_app: What each node runs.
        node_configs: One node config a client.
        run_config: The run's flat configuration.
    """

    def __init__(
        self, client_app: ClientApp, node_configs: NodeConfigs, run_config: Mapping[str, Any]
    ) -> None:
        super().__init__(client_app, node_configs, run_config)
        self._contexts: dict[int, Context] = {
            node: self.new_context(node) for node in self._node_configs
        }

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Deliver messages at once, one after another, and keep the replies."""
        pushed = self._identified(messages)
        for message in pushed:
            context = self._contexts[message.metadata.dst_node_id]
            reply = deliver(self._client_app, wire_copy(message), context)
            self._replies[message.metadata.message_id] = wire_copy(reply)
        return [message.metadata.message_id for message in pushed]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Deliver messages and return their replies; nothing is waited for."""
        return self.pull_messages(self.push_messages(messages))


def simulate(
    server_app: ServerApp,
    client_app: ClientApp,
    run_config: Mapping[str, Any],
    node_configs: NodeConfigs | None = None,
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
        node_configs = partitions(run_config)
    serve(server_app, InProcessGrid(client_app, node_configs, run_config), run_config)
