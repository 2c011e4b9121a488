"""Certificates and keys for a SuperLink on loopback."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
ISSUER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])


def write_certificates(folder):
    """`ca.crt`, and `server.pem` with `server.key` for 127.0.0.1, signed by it.

    Returns:
        The authority's private key, which signs further ones.
    """
    folder.mkdir()
    authority = ec.generate_private_key(ec.SECP384R1())
    own = x509.BasicConstraints(ca=True, path_length=0)
    ca = _signed(ISSUER, authority.public_key(), authority, own)
    (folder / "ca.crt").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    write_server_certificate(folder, authority)
    return authority


def write_server_certificate(folder, authority, address="127.0.0.1", until=30 * DAY):
    """`server.pem` with `server.key` for an address, valid until so long from now."""
    folder.mkdir(exist_ok=True)
    server = ec.generate_private_key(ec.SECP384R1())
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    leaf = _signed(subject, server.public_key(), authority, names, until)
    (folder / "server.pem").write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    private = server.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    (folder / "server.key").write_bytes(private)


def write_key_pair(path):
    """A site's key at `path`, the public one beside it as `.pub`, both as ssh-keygen has them."""
    key = ec.generate_private_key(ec.SECP384R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_suffix(".pub").write_bytes(public)


def _signed(subject, public, authority, extension, until=30 * DAY):
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        ISSUER, subject, public, x509.random_serial_number(), now - 2 * DAY, now + until
    )
    return builder.add_extension(extension, critical=False).sign(authority, hashes.SHA384())
