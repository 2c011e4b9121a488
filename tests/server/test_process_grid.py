"""Clients in worker processes: real forks, real kills. The client app doubles a vector."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp

from fglguard.bundle import load_bundle
from fglguard.errors import FederationError
from fglguard.parameters import flatten
from server.process_grid import ProcessGrid, simulate_in_processes

VECTOR = np.arange(1000, dtype=np.float32)


def misbehaving(behaviour):
    """Each client doubles the vector it is sent, unless `behaviour` names another thing."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        client = int(context.node_config["partition-id"])
        what = behaviour.get(client, "")
        if what == "raise":
            raise ValueError(f"client {client} says no")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "exit":
            os._exit(3)
        if what == "hang":
            time.sleep(600)
        if what == "remember":
            context.state["seen"] = ConfigRecord({"round": 1})
        if what == "spoil":
            message.content["arrays"]["vector"].data = b"spoiled"
            message.content["arrays"]["more"] = message.content["arrays"]["vector"]
        vector = message.content["arrays"]["vector"].numpy()
        content = RecordDict(
            {
                "arrays": ArrayRecord([np.asarray(2 * vector)]),
                "config": ConfigRecord({"client": client, "pid": os.getpid()}),
            }
        )
        return Message(content, reply_to=message)

    return app


@pytest.fixture
def make_grid():
    grids = []

    def make(behaviour=None, clients=4, workers=2):
        nodes = [{"partition-id": i, "num-partitions": clients} for i in range(clients)]
        grids.append(ProcessGrid(misbehaving(behaviour or {}), nodes, {}, workers))
        return grids[-1]

    yield make
    for grid in grids:
        grid.close()


def train_messages(grid):
    arrays = ArrayRecord({"vector": Array(VECTOR)})
    return [
        Message(
            RecordDict({"arrays": arrays, "config": ConfigRecord({"round": 1})}),
            dst_node_id=node,
            message_type=MessageType.TRAIN,
        )
        for node in grid.get_node_ids()
    ]


def ask(grid, timeout=30.0):
    """Replies by client number; error replies by their reason."""
    replies = {}
    for reply in grid.send_and_receive(train_messages(grid), timeout=timeout):
        client = reply.metadata.src_node_id - 2
        assert client not in replies
        replies[client] = reply.error.reason if reply.has_error() else reply.content
    return replies


def alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_every_client_answers_from_another_process(make_grid):
    replies = ask(make_grid(clients=5))
    assert sorted(replies) == [0, 1, 2, 3, 4]
    for client, content in replies.items():
        assert content["config"]["client"] == client
        assert content["config"]["pid"] != os.getpid()
        (doubled,) = content["arrays"].values()
        assert np.array_equal(doubled.numpy(), 2 * VECTOR)


def test_more_clients_than_one_worker_and_fewer_than_workers(make_grid):
    assert len(ask(make_grid(clients=3, workers=1))) == 3
    assert len(ask(make_grid(clients=1, workers=4))) == 1


def test_a_client_cannot_change_what_another_one_gets(make_grid):
    """Both clients' messages share one record, and one worker serves both."""
    replies = ask(make_grid({0: "spoil"}, clients=2, workers=1))
    assert "client app" not in replies[1]
    (doubled,) = replies[1]["arrays"].values()
    assert np.array_equal(doubled.numpy(), 2 * VECTOR)


def test_an_exception_is_an_error_reply_with_its_traceback(make_grid):
    grid = make_grid({2: "raise"})
    replies = ask(grid)
    assert "client 2 says no" in replies[2]
    assert "test_process_grid.py" in replies[2]
    assert len(replies) == 4


@pytest.mark.parametrize(("what", "told"), [("die", "SIGKILL"), ("exit", "code 3")])
def test_a_worker_that_dies_costs_its_client_alone_and_is_replaced(make_grid, what, told):
    grid = make_grid({1: what}, clients=6)
    for _ in range(2):
        replies = ask(grid)
        assert sorted(replies) == [0, 1, 2, 3, 4, 5]
        assert told in replies[1]
        assert "client 1" in replies[1]
        assert sum(isinstance(reply, str) for reply in replies.values()) == 1


def test_a_worker_killed_while_idle_is_replaced(make_grid):
    grid = make_grid()
    ask(grid)
    pids = grid.process_ids()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in pids))
    replies = ask(grid)
    assert sorted(replies) == [0, 1, 2, 3]
    assert not any(isinstance(reply, str) for reply in replies.values())


def test_a_worker_that_hangs_is_ended_and_its_client_is_missing(make_grid):
    grid = make_grid({1: "hang"})
    began = time.monotonic()
    replies = ask(grid, timeout=3.0)
    assert time.monotonic() - began < 20
    assert sorted(replies) == [0, 2, 3]
    hung = psutil.Process().children(recursive=True)
    assert len(hung) == 2  # the nursery and the other worker
    assert sorted(ask(grid, timeout=3.0)) == [0, 2, 3]


def test_state_that_would_be_lost_is_refused(make_grid):
    assert "context.state" in ask(make_grid({3: "remember"}))[3]


def test_without_its_nursery_a_run_ends_with_a_clear_error(make_grid):
    grid = make_grid({0: "die"})
    ask(grid)
    (nursery,) = psutil.Process().children()
    workers = grid.process_ids()
    nursery.kill()
    wait_until(lambda: not any(alive(pid) for pid in workers))
    with pytest.raises(FederationError, match=f"process {nursery.pid}, which starts"):
        ask(grid)


def test_push_and_pull(make_grid):
    grid = make_grid()
    waiting = set(grid.push_messages(train_messages(grid)))
    replies = []

    def all_there():
        replies.extend(grid.pull_messages(waiting))
        return len(replies) == 4

    wait_until(all_there)
    assert {reply.metadata.reply_to_message_id for reply in replies} == waiting


def test_a_message_to_nobody_is_refused(make_grid):
    grid = make_grid()
    message = Message(RecordDict(), dst_node_id=77, message_type=MessageType.TRAIN)
    with pytest.raises(FederationError, match="node 77: expected one of the 4 nodes"):
        grid.push_messages([message])


def test_closing_leaves_no_process(make_grid):
    grid = make_grid()
    ask(grid)
    pids = [child.pid for child in psutil.Process().children(recursive=True)]
    assert len(pids) == 3
    grid.close()
    grid.close()
    wait_until(lambda: not any(alive(pid) for pid in pids))


ORPHAN = """
import os, psutil, sys
sys.path.insert(0, {here!r})
from flwr.clientapp import ClientApp
from server.process_grid import ProcessGrid
from test_process_grid import misbehaving, train_messages
grid = ProcessGrid(misbehaving({{0: {what!r}}}), [{{"partition-id": i}} for i in range(2)], {{}}, 2)
list(grid.push_messages(train_messages(grid)))
list(grid.pull_messages([]))
print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)
list(grid.send_and_receive(train_messages(grid), timeout=600))
"""


@pytest.mark.long
@pytest.mark.parametrize("what", ["", "hang"])
def test_no_process_outlives_a_killed_parent(what):
    """Killed while a worker idles and while one hangs."""
    script = ORPHAN.format(here=str(Path(__file__).parent), what=what or "hang")
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 3
    parent.kill()
    parent.wait(10)
    wait_until(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.long
def test_processes_give_the_bits_that_a_run_in_process_gives(run_config, tmp_path):
    from client.app import app as client_app
    from server.app import app as server_app
    from server.inprocess import simulate

    config = run_config(federation__workers=3)
    simulate(server_app, client_app, config)
    there = config | {"output": str(tmp_path / "there"), "federation.backend": "processes"}
    simulate_in_processes(server_app, client_app, there)
    ours, theirs = Path(config["output"]), tmp_path / "there"
    assert np.array_equal(
        flatten(load_bundle(ours / "guard").detector),
        flatten(load_bundle(theirs / "guard").detector),
    )
    assert (
        json.loads((ours / "results.json").read_text())["test"]
        == (json.loads((theirs / "results.json").read_text())["test"])
    )


@pytest.mark.long
def test_a_run_whose_worker_is_killed_names_the_site(run_config):
    import client.app as client_module
    from server.app import app as server_app

    app = ClientApp()
    app.query()(client_module.query)

    @app.train()
    def train(message, context):
        if context.node_config["partition-id"] == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return client_module.train(message, context)

    with pytest.raises(FederationError, match=r"site b-0: worker process \d+ was ended by SIGKILL"):
        simulate_in_processes(server_app, app, run_config(federation__rounds=1))
