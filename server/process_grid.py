"""A simulation whose clients run in worker processes of our own, without Ray."""

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from flwr.app import Error, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from server.flower_internals import APP_CRASHED, SERVER_NODE, from_wire
from server.local_grid import LocalGrid, NodeConfigs, partitions, serve
from server.processes.parcels import Packer
from server.processes.pool import Outcome, WorkerPool
from server.processes.worker import serve_messages


class ProcessGrid(LocalGrid):
    """A grid whose nodes live in worker processes on this machine, one torch thread each.

    Messages cross in their protobuf form; the same seed gives the same bits as in this process or
    on Ray. A worker that dies becomes an error reply of the client it worked for, and another one
    takes its place. A client's `context.state` must stay empty: it would be lost between workers.

    Workers are forked, so make the grid before starting threads; use it as a context manager.

    Args:
        client_app: What each node runs.
        node_configs: One node config a client.
        run_config: The run's flat configuration.
        workers: Worker processes.
        timeout: Seconds that `send_and_receive` waits where its caller names no limit.
    """

    def __init__(
        self,
        client_app: ClientApp,
        node_configs: NodeConfigs,
        run_config: Mapping[str, Any],
        workers: int,
        timeout: float = 600.0,
    ) -> None:
        super().__init__(client_app, node_configs, run_config)
        self._timeout = timeout
        self._packer = Packer()
        self._outstanding: dict[str, Message] = {}
        self._pool = WorkerPool(
            min(workers, max(1, len(node_configs))),
            lambda channel: serve_messages(channel, client_app, self.new_context),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def process_ids(self) -> list[int]:
        """Process ids of the workers that are up."""
        return self._pool.process_ids()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Queue messages for the workers, which get them while replies are pulled."""
        pushed = self._identified(messages)
        parcels = self._packer.pack(
            [(message.metadata.dst_node_id - SERVER_NODE - 1, message) for message in pushed]
        )
        self._outstanding |= {message.metadata.message_id: message for message in pushed}
        self._pool.submit(parcels)
        return [message.metadata.message_id for message in pushed]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Hand out the replies that are there to these messages, each once."""
        self._keep(self._pool.advance(time.monotonic()))
        return super().pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages and return the replies that come within `timeout` seconds.

        Workers that have not answered by then are ended and replaced.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        ids = list(self.push_messages(messages))
        missing = set(ids)
        while missing and time.monotonic() < deadline:
            missing -= self._keep(self._pool.advance(deadline))
        if missing:
            self._pool.abandon()
            self._outstanding.clear()
        return super().pull_messages(ids)

    def _keep(self, outcomes: Iterable[Outcome]) -> set[str]:
        """Store replies; returns the ids of the messages they answer."""
        answered = set()
        for outcome in outcomes:
            message_id = outcome.parcel.message_id
            message = self._outstanding.pop(message_id)
            if outcome.reply is not None:
                proto, *arrays = outcome.reply
                reply = from_wire(proto, arrays)
            else:
                reply = Message(Error(APP_CRASHED, outcome.failure), reply_to=message)
            self._replies[message_id] = reply
            answered.add(message_id)
        return answered


def simulate_in_processes(
    server_app: ServerApp, client_app: ClientApp, run_config: Mapping[str, Any]
) -> None:
    """Run a ServerApp over the partitions of a simulation in `federation.workers` processes."""
    with process_grid(client_app, run_config) as grid:
        serve(server_app, grid, run_config)


def process_grid(client_app: ClientApp, run_config: Mapping[str, Any]) -> ProcessGrid:
    """The grid that a run's configuration describes."""
    return ProcessGrid(
        client_app,
        partitions(run_config),
        run_config,
        int(run_config["federation.workers"]),
        float(run_config["federation.timeout"]),
    )
