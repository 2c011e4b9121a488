"""Certificates against OpenSSL, and by handshakes of Python's ssl with the authority."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from scripts.provisioning.certificates import load_certificate
from scripts.provisioning.checks.reach import check_reach
from scripts.provisioning.kit_record import read_kit_record


@pytest.fixture
def host(kits):
    kits.values["host"]["also"] = ["guard.example.org", "10.0.0.7"]
    kits.make()
    return kits / "host"


@contextlib.contextmanager
def tls_server(kit, answer=b"HTTP/1.1 200 OK\r\n\r\n"):
    """Serves one connection with a kit's certificate; yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(kit / "server.pem", kit / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def serve():
            connection, _ = listener.accept()
            with (
                connection,
                contextlib.suppress(OSError),
                context.wrap_socket(connection, server_side=True) as secured,
            ):
                secured.settimeout(10)
                secured.recv(4096)
                secured.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(20)
        assert not thread.is_alive()


def shake_hands(port, authority, name):
    context = ssl.create_default_context(cafile=str(authority))
    with (
        socket.create_connection(("127.0.0.1", port), 10) as connection,
        context.wrap_socket(connection, server_hostname=name) as secured,
    ):
        secured.sendall(b"x")
        return secured.version()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "guard.example.org", "10.0.0.7"])
def test_a_handshake_succeeds_for_every_name_of_the_host(host, name):
    with tls_server(host) as port:
        assert shake_hands(port, host / "ca.crt", name) == "TLSv1.3"


def test_a_handshake_fails_for_another_name_and_another_authority(host, tmp_path, kits):
    with tls_server(host) as port, pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake_hands(port, host / "ca.crt", "elsewhere.example.org")
    other = type(kits)(tmp_path / "other")
    other.file.parent.mkdir()
    other.make()
    with tls_server(host) as port, pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(port, other / "host" / "ca.crt", "localhost")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_openssl_verifies_the_chain_and_the_purpose(host):
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile"]
    files = [str(host / "ca.crt"), str(host / "server.pem")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_server_certificate_never_outlives_the_authority(kits):
    kits.values["certificates"] = {"authority_days": 10, "server_days": 10, "warning_days": 1}
    kits.make()
    authority = load_certificate(kits / "host" / "ca.crt").not_valid_after_utc
    assert load_certificate(kits / "host" / "server.pem").not_valid_after_utc <= authority


@pytest.mark.parametrize(
    ("date", "said"),
    [
        ("Mon, 01 Jan 2001 00:00:00 GMT", ["ahead of"]),
        ("Fri, 01 Jan 2100 00:00:00 GMT", ["behind"]),
        ("soon", []),
    ],
)
def test_a_clock_that_differs_from_the_hosts_is_told(kits, host, date, said):
    answer = f"HTTP/1.1 405 No\r\nDate: {date}\r\n\r\n".encode()
    with tls_server(host, answer) as port:
        kits.values["host"]["port"] = port
        kits.make()
        found = list(check_reach(kits / "north", read_kit_record(kits / "north")))
    assert len(found) == len(said)
    assert all(word in finding.what for word, finding in zip(said, found, strict=True))


def test_a_stranger_that_answers_in_the_hosts_place_is_told(kits, host, tmp_path):
    other = type(kits)(tmp_path / "other")
    other.file.parent.mkdir()
    other.make()
    with tls_server(other / "host") as port:
        kits.values["host"]["port"] = port
        kits.make()
        (found,) = check_reach(kits / "north", read_kit_record(kits / "north"))
    assert "does not confirm" in found.what and "do not start" in found.remedy
