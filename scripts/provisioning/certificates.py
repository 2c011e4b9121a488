"""The consortium's certificate authority, and the SuperLink's certificate."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fglguard.errors import FederationError
from scripts.provisioning.consortium import Host, is_ip

_CLOCKS_APART = datetime.timedelta(hours=1)
"""Certificates begin this much in the past, so that a site whose clock is behind can connect."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The SuperLink's own processes reach it there."""


def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def new_key() -> bytes:
    """A private P-384 key as PEM (PKCS 8), without a passphrase."""
    return ec.generate_private_key(ec.SECP384R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def authority_certificate(key: bytes, name: str, days: int) -> bytes:
    """A certificate authority's own certificate, as PEM, for certificates of servers only.

    Args:
        key: Its private key, as PEM.
        name: The consortium's.
        days: Its lifetime.
    """
    private = load_key(key, "the authority's key")
    public = private.public_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} authority")])
    builder = (
        _builder(subject, subject, public, now() + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return builder.sign(private, hashes.SHA384()).public_bytes(serialization.Encoding.PEM)


def server_certificate(
    key: bytes, host: Host, days: int, authority: x509.Certificate, authority_key: bytes
) -> bytes:
    """A certificate for the SuperLink, as PEM; it never outlives the authority's.

    Args:
        key: The server's private key, as PEM.
        host: Names and addresses that it is valid for.
        days: Its lifetime.
        authority: Who signs it.
        authority_key: Its private key, as PEM.
    """
    public = load_key(key, "the server's key").public_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host.address[:64])])
    end = min(now() + datetime.timedelta(days=days), authority.not_valid_after_utc)
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(
        load_key(authority_key, "the authority's key").public_key()
    )
    builder = (
        _builder(subject, authority.subject, public, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer_key, critical=False)
        .add_extension(
            x509.SubjectAlternativeName([_general_name(name) for name in server_names(host)]),
            critical=False,
        )
    )
    signed = builder.sign(load_key(authority_key, "the authority's key"), hashes.SHA384())
    return signed.public_bytes(serialization.Encoding.PEM)


def server_names(host: Host) -> list[str]:
    """Names and IPs of the server's certificate, in order and each once."""
    own = [] if ipaddress.ip_address(host.bind).is_unspecified else [host.bind]
    return list(dict.fromkeys([host.address, *host.also, *own, *_LOOPBACK]))


def names_of(certificate: x509.Certificate) -> list[str]:
    """Names and IPs that a certificate is valid for, as `server_names` writes them."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in names]


def covers(certificate: x509.Certificate, address: str) -> bool:
    """Whether a certificate is valid for an address; wildcards are not known here."""
    wanted = _plain(address)
    return any(_plain(name) == wanted for name in names_of(certificate))


def load_certificate(path: Path) -> x509.Certificate:
    """Read a certificate.

    Raises:
        FederationError: It can't be read or is no certificate.
    """
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FederationError(f"{path}: expected a certificate in PEM: {error}") from error


def load_key(data: bytes, source: Path | str) -> ec.EllipticCurvePrivateKey:
    """Read a private key of a certificate.

    Raises:
        FederationError: It is no elliptic-curve key in PEM.
    """
    try:
        key = serialization.load_pem_private_key(data, None)
    except (ValueError, TypeError) as error:
        raise FederationError(f"{source}: expected a private key in PEM: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise FederationError(f"{source}: expected an elliptic-curve key, got another kind")
    return key


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    end: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - _CLOCKS_APART)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if is_ip(name) else x509.DNSName(name)


def _plain(name: str) -> str:
    return str(ipaddress.ip_address(name)) if is_ip(name) else name.rstrip(".").lower()


def names_as_written(names: Sequence[str]) -> list[str]:
    """Names in the form in which a certificate gives them back."""
    return [str(ipaddress.ip_address(name)) if is_ip(name) else name for name in names]
