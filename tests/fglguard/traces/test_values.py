import base64
import json

import pytest
from google.protobuf.json_format import MessageToDict, Parse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from fglguard.errors import CorpusError
from fglguard.traces.values import attributes_of, decoded, encoded

VALUE = {"a": ["x", True, 3, -(2**60), 0.5], "b": {"c": "é"}}


def test_values_go_through_opentelemetrys_own_messages_and_back():
    message = Parse(json.dumps(encoded(VALUE)), AnyValue())
    assert decoded(MessageToDict(message), "x") == VALUE


def test_bytes_stay_base64_and_unset_values_are_none():
    content = base64.b64encode(b"abc").decode()
    assert decoded({"bytesValue": content}, "x") == content
    assert decoded({}, "x") is decoded(None, "x") is None
    assert attributes_of(None, "x") == {}


@pytest.mark.parametrize(
    "value",
    [
        3,
        {"stringValue": 1},
        {"intValue": True},
        {"intValue": "9" * 5000},
        {"intValue": float("inf")},
        {"doubleValue": []},
        {"arrayValue": {"values": 3}},
        {"kvlistValue": {"values": [{"key": 1}]}},
        {"stringValue": "a", "intValue": 1},
        {"otherValue": "a"},
    ],
)
def test_other_values_are_named_and_not_quoted(value):
    with pytest.raises(CorpusError, match=r"^here"):
        decoded(value, "here")
