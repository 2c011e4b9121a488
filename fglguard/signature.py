"""A guard's signature: OpenSSH's, by an Ed25519 key, so that `ssh-keygen -Y` reads and makes it.

What is signed is `guard.json`, which names the SHA-256 of the weights. The format is SSHSIG
(openssh-portable, PROTOCOL.sshsig) with SHA-512 and the namespace `fglguard-guard`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fglguard.errors import SignatureError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519

NAMESPACE = b"fglguard-guard"
"""A signature that the same key made for another purpose is none of a guard's."""
_KIND = b"ssh-ed25519"
_MAGIC, _VERSION, _HASH = b"SSHSIG", struct.pack(">I", 1), b"sha512"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_COLUMNS = 70
_LENGTH = 64
_INSTALL = "needs the package cryptography: pip install 'fglguard[signed]'"


@dataclass(frozen=True)
class PublicKey:
    """The key that a guard must be signed with.

    Attributes:
        data: The Ed25519 public key, 32 bytes.
        source: Where it comes from, for messages.
    """

    data: bytes
    source: str

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        return _fingerprint(_public_blob(self.data))

    def __str__(self) -> str:
        return f"{self.fingerprint} ({self.source})"


def read_public_key(given: str | Path) -> PublicKey:
    """Read a public key: a file such as a kit's `host.pub`, or its one line `ssh-ed25519 AAAA...`.

    Raises:
        SignatureError: The file can't be read, or it is no Ed25519 public key of OpenSSH's.
    """
    text, source = str(given), "as given"
    if not text.startswith("ssh-"):
        source = text
        try:
            text = Path(given).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SignatureError(f"{given}: the public key can't be read: {error}") from error
    kind, _, rest = text.strip().partition(" ")
    encoded = rest.partition(" ")[0]
    try:
        blob = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        blob = b""
    data = blob[-32:]
    if kind.encode() != _KIND or blob != _public_blob(data):
        raise SignatureError(
            f"{source}: expected an Ed25519 public key, one line `ssh-ed25519 AAAA...` such as a "
            f"kit's host.pub"
        )
    return PublicKey(data, source)


def sign(message: bytes, private_key: Path) -> bytes:
    """The signature of a message, as the file that `ssh-keygen -Y sign` writes.

    Args:
        message: What is signed.
        private_key: An Ed25519 key in OpenSSH's format without a passphrase, such as `host.key`.

    Raises:
        SignatureError: The key can't be read or is another kind.
    """
    key = _private_key(private_key)
    public = key.public_key().public_bytes_raw()
    signature = key.sign(_signed(message))
    return _armoured(_head(public) + _string(_string(_KIND) + _string(signature)))


def require_signing_key(private_key: Path) -> None:
    """Refuse a key that can't sign: at once, not at the end of a run.

    Raises:
        SignatureError: It can't be read or is another kind.
    """
    _private_key(private_key)


def require_signature(message: bytes, signature: bytes | None, key: PublicKey, where: str) -> None:
    """Refuse a message that is not the one that the key has signed.

    Args:
        message: What must be signed.
        signature: The signature; None where there is none.
        key: The key.
        where: The signature's file, for messages.

    Raises:
        SignatureError: There is no signature, it is by another key or of something else; the text
            names the file and the key.
    """
    wanted = f"{where}: expected a signature by the key {key}"
    if signature is None:
        raise SignatureError(f"{wanted}, found no such file")
    blob = _unarmoured(signature)
    if blob is None:
        raise SignatureError(f"{wanted}, found no signature of OpenSSH's in it: damaged?")
    head, tail = _head(key.data), blob[-_LENGTH:]
    if blob != head + _string(_string(_KIND) + _string(tail)):
        raise SignatureError(f"{wanted}, found {_other(blob)}")
    if not _fits(key.data, tail, message):
        raise SignatureError(
            f"{wanted}, found one that does not fit what it stands beside: one of the two was "
            f"changed since"
        )


def _fits(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise SignatureError(f"a guard's signature {_INSTALL}") from error
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, _signed(message))
    except (InvalidSignature, ValueError):
        return False
    return True


def _private_key(path: Path) -> ed25519.Ed25519PrivateKey:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise SignatureError(f"a guard's signature {_INSTALL}") from error
    try:
        key = serialization.load_ssh_private_key(path.read_bytes(), None)
    except OSError as error:
        raise SignatureError(f"{path}: the signing key can't be read: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # What it says could quote the file.
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SignatureError(
            f"{path}: expected an Ed25519 private key in OpenSSH's format without a passphrase, "
            f"such as the host's kit has as host.key"
        )
    return key


def _other(blob: bytes) -> str:
    """What a signature is that this key has not made for this purpose."""
    public = blob[len(_MAGIC) + len(_VERSION) + 4 :][: len(_public_blob(bytes(32)))]
    if blob.startswith(_head(public[-32:])):
        return f"one by another key, {_fingerprint(public)}"
    return "one for another purpose, or by another kind of key"


def _head(public: bytes) -> bytes:
    parts = (_public_blob(public), NAMESPACE, b"", _HASH)
    return _MAGIC + _VERSION + b"".join(map(_string, parts))


def _signed(message: bytes) -> bytes:
    return _MAGIC + b"".join(
        map(_string, (NAMESPACE, b"", _HASH, hashlib.sha512(message).digest()))
    )


def _public_blob(public: bytes) -> bytes:
    return _string(_KIND) + _string(public)


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _fingerprint(blob: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _armoured(blob: bytes) -> bytes:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _COLUMNS] for at in range(0, len(text), _COLUMNS)]
    return "\n".join([_BEGIN, *lines, _END, ""]).encode()


def _unarmoured(data: bytes) -> bytes | None:
    """The blob of a signature's one spelling; None for anything else."""
    lines = data.decode("ascii", "replace").split("\n")
    try:
        blob = base64.b64decode("".join(lines[1:-2]), validate=True)
    except (binascii.Error, ValueError):
        return None
    return blob if _armoured(blob) == data else None
