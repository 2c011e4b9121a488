"""Key pairs: a site's ECDSA key for Flower, and the host's Ed25519 key for guard bundles."""

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from fglguard.errors import FederationError

_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
"""Those that both OpenSSH and Flower accept."""
_Private = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
_Public = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


def new_site_key() -> bytes:
    """A private key as `ssh-keygen -t ecdsa -b 384` makes it, without a passphrase."""
    return _openssh(ec.generate_private_key(ec.SECP384R1()))


def new_bundle_key() -> bytes:
    """A private Ed25519 key in OpenSSH's format, without a passphrase."""
    return _openssh(ed25519.Ed25519PrivateKey.generate())


def _openssh(key: _Private) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )


def public_text_of(private: bytes, source: Path) -> str:
    """The public key of a private one, in OpenSSH's one-line form without a comment.

    Raises:
        FederationError: It is no private key of OpenSSH's without a passphrase.
    """
    try:
        key = serialization.load_ssh_private_key(private, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise FederationError(
            f"{source}: expected a private key in OpenSSH's format without a passphrase: {error}"
        ) from error
    if not isinstance(key, _Private):
        raise FederationError(f"{source}: expected an ECDSA or Ed25519 key, got another kind")
    return _text(key.public_key())


def site_public_text(content: str | bytes, source: Path | str) -> str:
    """A site's public key, given so or as PEM, in OpenSSH's one-line form without its comment.

    Raises:
        FederationError: It is no ECDSA public key on a NIST curve.
    """
    key = _load_public(content, source)
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, _CURVES):
        raise FederationError(
            f"{source}: expected an ECDSA public key (ssh-keygen -t ecdsa -b 384), got another kind"
        )
    return _text(key)


def bundle_public_text(content: str | bytes, source: Path | str) -> str:
    """The host's public key in OpenSSH's one-line form, without its comment.

    Raises:
        FederationError: It is no Ed25519 public key.
    """
    key = _load_public(content, source)
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise FederationError(f"{source}: expected an Ed25519 public key, got another kind")
    return _text(key)


def _load_public(content: str | bytes, source: Path | str) -> object:
    data = content.encode("utf-8") if isinstance(content, str) else content
    if b"PRIVATE KEY" in data:
        raise FederationError(
            f"{source}: expected a public key, got a private one, which should never leave its site"
        )
    pem = data.lstrip().startswith(b"-----BEGIN")
    load = serialization.load_pem_public_key if pem else serialization.load_ssh_public_key
    try:
        return load(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise FederationError(
            f"{source}: expected a public key in OpenSSH's format or PEM: {error}"
        ) from error


def _text(key: _Public) -> str:
    return key.public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    ).decode("ascii")


def pem_of(public_text: str) -> bytes:
    """A public key as Flower's SuperLink stores it: PEM of its SubjectPublicKeyInfo."""
    key = serialization.load_ssh_public_key(public_text.encode("ascii"))
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
