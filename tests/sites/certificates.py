"""Certificates and keys for a SuperLink on loopback."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


def write_certificates(folder):
    """`ca.crt`, and `server.pem` with `server.key` for 127.0.0.1, signed by it."""
    folder.mkdir()
    authority, server = (
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP384R1()),
    )
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    own = x509.BasicConstraints(ca=True, path_length=0)
    ca = _signed(issuer, authority.public_key(), issuer, authority, own)
    leaf = _signed(subject, server.public_key(), issuer, authority, names)
    (folder / "ca.crt").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
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


def _signed(subject, public, issuer, authority, extension):
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        issuer, subject, public, x509.random_serial_number(), now - DAY, now + 30 * DAY
    )
    return builder.add_extension(extension, critical=False).sign(authority, hashes.SHA384())
