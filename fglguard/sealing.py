"""Sealed records: JSON with one spelling and its own hash, so that every changed byte shows."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fglguard.errors import BundleError

SEAL = "sha256"


def seal(content: Mapping[str, Any]) -> bytes:
    """Spell a record, the SHA-256 of the rest of it included.

    Raises:
        BundleError: Strict JSON can't hold the content, e.g. NaN.
    """
    return _spell({**content, SEAL: digest(content)})


def unseal(data: bytes, where: str) -> dict[str, Any]:
    """The content of a sealed record, without its seal.

    The bytes must be the very ones that `seal` gives, so that white space, the order of keys and
    repeated keys count too. The seal shows accidents; whoever can write the record can reseal it.

    Args:
        data: The bytes.
        where: Named in errors.

    Raises:
        BundleError: The bytes are not a JSON object, lack the seal, or were changed.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BundleError(
            f"{where}: expected JSON, got something else ({type(error).__name__}): damaged?"
        ) from None
    if not isinstance(content, dict):
        raise BundleError(f"{where}: expected a JSON object, got {type(content).__name__}")
    if SEAL not in content:
        raise BundleError(f"{where}: the key {SEAL!r} is missing")
    bare = {key: value for key, value in content.items() if key != SEAL}
    try:
        intact = seal(bare) == data
    except BundleError:  # it holds what no sealed record can
        intact = False
    if not intact:
        raise BundleError(f"{where}: changed since it was saved: its SHA-256 does not match")
    return bare


def digest(content: Any) -> str:
    """Hex SHA-256 of a JSON value's one spelling."""
    return hashlib.sha256(_spell(content)).hexdigest()


def _spell(content: Any) -> bytes:
    """Sorted keys, two spaces, UTF-8, no NaN or infinity."""
    try:
        text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return text.encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise BundleError(f"strict JSON can't hold it: {error}") from error
