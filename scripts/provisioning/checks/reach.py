"""The way to the host: its name, a TLS handshake with the authority, and the two clocks."""

import datetime
import email.utils
import socket
import ssl
import time
from pathlib import Path

from scripts.provisioning.certificates import now
from scripts.provisioning.checks.finding import Finding, Findings
from scripts.provisioning.consortium import joined_address
from scripts.provisioning.kit_record import KitRecord
from scripts.provisioning.layout import CA_CERTIFICATE

SECONDS = 10.0
CLOCKS_APART = 60.0
"""Seconds. A SuperLink refuses a message signed more than 300 s ago by its own clock."""
_ENOUGH = 8192


def check_reach(kit: Path, record: KitRecord, *, must_listen: bool = True) -> Findings:
    """Connect, shake hands, ask for the time; bounded by `SECONDS` each.

    Args:
        kit: The kit, with the authority's certificate.
        record: Says where the host is.
        must_listen: Whether it is wrong that nothing listens there; at the host itself, before it
            is started, it is not.
    """
    where = joined_address(record.address, record.port)
    try:
        connection = socket.create_connection((record.address, record.port), SECONDS)
    except socket.gaierror as error:
        yield Finding(
            f"the host's name {record.address} is unknown here ({error.strerror})",
            "correct the name service of this machine, or host.address in the consortium file",
        )
        return
    except OSError as error:
        if must_listen:
            yield Finding(
                f"no connection to {where} within {SECONDS:.0f} s ({error.strerror or error})",
                f"ask the host whether its SuperLink is up, and let this machine out to {where}",
            )
        return
    with connection:
        yield from _shake_hands(connection, kit, record, where)


def _shake_hands(connection: socket.socket, kit: Path, record: KitRecord, where: str) -> Findings:
    try:
        context = ssl.create_default_context(cafile=str(kit / CA_CERTIFICATE))
    except (OSError, ssl.SSLError):
        # Said by the check of the certificate itself.
        return
    connection.settimeout(SECONDS)
    try:
        with context.wrap_socket(connection, server_hostname=record.address) as secured:
            yield from _clocks(_time_at(secured, record.address), where)
    except ssl.SSLCertVerificationError as error:
        yield Finding(
            f"{where} shows a certificate that {CA_CERTIFICATE} does not confirm "
            f"({error.verify_message})",
            "do not start: compare ca.crt with the host's; another may be answering in its place",
        )
    except (OSError, ssl.SSLError) as error:
        yield Finding(
            f"{where} accepts connections and does not speak TLS as expected ({error})",
            "ask the host whether its SuperLink listens on that port",
        )


def _time_at(secured: ssl.SSLSocket, name: str) -> datetime.datetime | None:
    """What time the host's HTTP server has; None if it does not say."""
    secured.sendall(f"HEAD / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode("ascii"))
    answer, deadline = b"", time.monotonic() + SECONDS
    while b"\r\n\r\n" not in answer and len(answer) < _ENOUGH and time.monotonic() < deadline:
        part = secured.recv(4096)
        if not part:
            break
        answer += part
    for line in answer.decode("latin-1").split("\r\n"):
        key, _, value = line.partition(":")
        if key.lower() == "date":
            try:
                return email.utils.parsedate_to_datetime(value.strip())
            except ValueError:
                return None
    return None


def _clocks(there: datetime.datetime | None, where: str) -> Findings:
    if there is None:
        return
    apart = (now() - there).total_seconds()
    if abs(apart) > CLOCKS_APART:
        direction = "ahead of" if apart > 0 else "behind"
        yield Finding(
            f"the clock here is {abs(apart):.0f} s {direction} that of {where}",
            "set both machines' clocks (timedatectl set-ntp true)",
        )
