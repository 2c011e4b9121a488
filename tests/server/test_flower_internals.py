"""What fglguard needs of Flower's private parts: each test names what a release has broken."""

import ast
from pathlib import Path

import numpy as np
import pytest
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Error,
    Message,
    MessageType,
    MetricRecord,
    RecordDict,
)

from server import flower_internals

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {"flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.serverapp.strategy"}
ALLOWED = {
    "server/flower_internals.py": None,
    "client/failure.py": {"flwr.common.constant"},  # ErrorCode; a client can't import the server
    # A process of its own, which reads FLWR_HOME; server/ would bring the whole app with it.
    "scripts/provisioning/listed_nodes.py": {
        "flwr.cli.flower_config",
        "flwr.cli.utils",
        "flwr.proto.control_pb2",
    },
}


def private_imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        yield from (n for n in names if n.split(".")[0] == "flwr" and n not in PUBLIC)


def test_private_flower_modules_are_imported_in_one_place():
    for part in ("fglguard", "client", "server", "strategies", "privacy", "scripts"):
        for path in (ROOT / part).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            allowed = ALLOWED.get(name, set())
            if allowed is not None:
                assert set(private_imports(path)) <= allowed, f"{name} uses Flower's private parts"


@pytest.fixture
def message():
    flower_internals.begin_run()
    content = RecordDict(
        {
            "config": ConfigRecord({"round": 3, "text": "a", "flag": True, "rate": 0.5}),
            "arrays": ArrayRecord(
                {"a": Array(np.arange(6, dtype=np.float32).reshape(2, 3)), "b": Array(np.eye(2))}
            ),
            "metrics": MetricRecord({"loss": 0.25, "counts": [1, 2]}),
            "more": ArrayRecord({"c": Array(np.zeros(0, dtype=np.int64))}),
        }
    )
    return Message(content, dst_node_id=7, message_type=MessageType.TRAIN)


def test_a_run_can_be_begun_and_messages_belong_to_it(message):
    run = flower_internals.begin_run()
    assert run.run_id > 0
    again = Message(message.content, dst_node_id=7, message_type=MessageType.TRAIN)
    assert again.metadata.run_id == run.run_id, "TaskIdentity.run_id no longer sets a message's"
    assert again.metadata.src_node_id == flower_internals.SERVER_NODE


def test_a_message_takes_an_id_that_its_reply_answers_to(message):
    first = flower_internals.assign_id(message)
    assert message.metadata.message_id == first, "Metadata no longer reads __dict__['_message_id']"
    reply = Message(RecordDict(), reply_to=message)
    assert reply.metadata.reply_to_message_id == first
    assert reply.metadata.src_node_id == 7
    assert flower_internals.assign_id(message) != first


def test_the_wire_form_keeps_every_record_and_carries_arrays_apart(message):
    flower_internals.assign_id(message)
    proto, data = flower_internals.to_wire(message)
    assert data == [
        array.data for key in ("arrays", "more") for array in message.content[key].values()
    ]
    assert not any(piece in proto for piece in data), "array data is still inside the protobuf form"
    back = flower_internals.from_wire(proto, data)
    assert back.metadata.message_id == message.metadata.message_id
    assert back.metadata.dst_node_id == 7
    assert back.metadata.message_type == MessageType.TRAIN
    assert back.content == message.content


def test_a_wire_copy_shares_nothing_that_can_be_changed(message):
    copy = flower_internals.wire_copy(message)
    copy.content["config"]["round"] = 9
    copy.content["metrics"]["counts"].append(3)
    copy.content["arrays"]["a"].data = b""
    del copy.content["more"]["c"]
    assert message.content["config"]["round"] == 3
    assert message.content["metrics"]["counts"] == [1, 2]
    assert message.content["arrays"]["a"].numpy()[1, 2] == 5
    assert "c" in message.content["more"]


def test_an_error_reply_crosses(message):
    flower_internals.assign_id(message)
    reply = Message(Error(flower_internals.APP_CRASHED, "gone"), reply_to=message)
    back = flower_internals.wire_copy(reply)
    assert (back.error.code, back.error.reason) == (flower_internals.APP_CRASHED, "gone")
    assert back.metadata.reply_to_message_id == message.metadata.message_id


def test_missing_data_is_refused(message):
    proto, data = flower_internals.to_wire(message)
    with pytest.raises(ValueError, match="shorter"):
        flower_internals.from_wire(proto, data[:-1])
