"""Bearer keys: read from a file or the environment, compared in constant time, never told."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from fglguard.errors import SettingsError

log = logging.getLogger(__name__)

VARIABLE = "FGLGUARD_KEYS"
"""Keys in the environment, one a line."""
SHORTEST = 16
_KEY = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What may follow `Bearer` in a header (RFC 6750, section 2.1)."""


def read_keys(path: Path | None, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The keys of a file, or of the environment where no file is named; none of neither.

    Empty lines and those that begin with `#` are passed over.

    Raises:
        SettingsError: The file can't be read or holds no key, or a line can't be a key. The text
            names the line and quotes nothing of it.
    """
    if path is None:
        text = environment.get(VARIABLE)
        return () if text is None else _parsed(text, VARIABLE)
    try:
        text = path.read_text(encoding="utf-8")
        if path.stat().st_mode & 0o077:
            log.warning("%s: others than its owner can read or write these keys", path)
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingsError(f"--keys: {path}: can't be read: {told}") from error
    return _parsed(text, str(path))


class Keys:
    """Says which of its keys a client has shown.

    Args:
        keys: The keys; only their hashes are kept.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = [_hash(key.encode()) for key in keys]

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._hashes)

    def number(self, header: bytes | None) -> int | None:
        """Which key an `Authorization` header shows, from 0; None for none of them.

        It takes as long whichever key it is, and whether it is one or not.
        """
        scheme, _, key = (header or b"").partition(b" ")
        presented = _hash(key.strip())
        found = None
        for place, known in enumerate(self._hashes):
            if hmac.compare_digest(presented, known):
                found = place
        return found if scheme.lower() == b"bearer" else None


def _hash(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _parsed(text: str, where: str) -> tuple[str, ...]:
    keys = []
    for number, line in enumerate(text.splitlines(), start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if len(key) < SHORTEST or not _KEY.fullmatch(key):
            raise SettingsError(
                f"{where}:{number}: expected a key of at least {SHORTEST} letters, digits and "
                f"-._~+/, got a line of {len(key)} characters"
            )
        keys.append(key)
    if not keys:
        raise SettingsError(f"{where}: expected at least one key, one a line, got none")
    return tuple(dict.fromkeys(keys))
