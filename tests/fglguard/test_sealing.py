import hashlib
import json

import pytest

from fglguard.errors import BundleError
from fglguard.sealing import digest, seal, unseal

CONTENT = {"b": [1, 0.1, None], "a": {"é": True}}


def test_round_trip_whatever_the_order_of_keys() -> None:
    data = seal(CONTENT)
    assert unseal(data, "here") == CONTENT
    assert seal(dict(reversed(CONTENT.items()))) == data


def test_the_seal_is_the_sha256_of_the_rest_as_it_is_spelled() -> None:
    record = json.loads(seal(CONTENT))
    found = record.pop("sha256")
    spelled = json.dumps(record, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    assert found == digest(CONTENT) == hashlib.sha256(spelled.encode()).hexdigest()


def test_every_changed_byte_shows() -> None:
    good = seal(CONTENT)
    for at in range(len(good)):
        for bad in (
            good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :],
            good[:at] + good[at + 1 :],
            good[:at] + b" " + good[at:],
        ):
            with pytest.raises(BundleError, match="here: "):
                unseal(bad, "here")


def test_repeated_keys_show() -> None:
    """Parsers keep the last of them, so that hashing what was parsed would not see it."""
    twice = seal(CONTENT).replace(b"{\n", b'{\n  "b": 0,\n', 1)
    assert {k: v for k, v in json.loads(twice).items() if k != "sha256"} == CONTENT
    with pytest.raises(BundleError, match="changed since it was saved"):
        unseal(twice, "here")


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), {1, 2}, "\ud800", b"bytes"])
def test_what_strict_json_can_not_hold_is_refused(odd) -> None:
    with pytest.raises(BundleError, match="strict JSON can't hold it"):
        seal({"odd": odd})
