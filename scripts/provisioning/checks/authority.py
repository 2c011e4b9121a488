"""The certificates: in their time, signed by the authority, valid for the host's address."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from fglguard.errors import FederationError
from scripts.provisioning.certificates import (
    covers,
    load_certificate,
    load_key,
    names_of,
    now,
)
from scripts.provisioning.checks.finding import Finding, Findings, found
from scripts.provisioning.kit_record import KitRecord
from scripts.provisioning.layout import CA_CERTIFICATE, SERVER_CERTIFICATE, SERVER_KEY

_NEW_KIT = "get the kit anew from where it was made"
_NEW_SERVER = "provision with --rotate host and take the new server.pem and server.key"
_NEW_AUTHORITY = "plan a new authority: provision into another folder and hand out all kits anew"


def check_authority(kit: Path, record: KitRecord) -> Findings:
    """The authority's certificate, which every kit has."""
    try:
        certificate = load_certificate(kit / CA_CERTIFICATE)
    except FederationError as error:
        yield found(error, _NEW_KIT)
        return
    yield from _times(CA_CERTIFICATE, certificate, record.warning_days, _NEW_AUTHORITY)


def check_server(kit: Path, record: KitRecord) -> Findings:
    """The server's certificate and key, which the host's kit has."""
    try:
        certificate = load_certificate(kit / SERVER_CERTIFICATE)
        authority = load_certificate(kit / CA_CERTIFICATE)
    except FederationError as error:
        yield found(error, _NEW_KIT)
        return
    yield from _times(SERVER_CERTIFICATE, certificate, record.warning_days, _NEW_SERVER)
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        yield Finding(f"{SERVER_CERTIFICATE} is not signed by {CA_CERTIFICATE}", _NEW_SERVER)
    if not covers(certificate, record.address):
        yield Finding(
            f"{SERVER_CERTIFICATE} is valid for {', '.join(names_of(certificate)) or 'no name'}, "
            f"and the sites connect to {record.address}",
            "correct host.address or host.also in the consortium file and provision again",
        )
    yield from _same_key(kit / SERVER_KEY, certificate)


def _same_key(path: Path, certificate: x509.Certificate) -> Findings:
    try:
        key = load_key(path.read_bytes(), path)
    except OSError as error:
        yield Finding(f"{path} can't be read: {error.strerror}", _NEW_KIT)
    except FederationError as error:
        yield found(error, _NEW_SERVER)
    else:
        if key.public_key() != certificate.public_key():
            yield Finding(
                f"{SERVER_KEY} is not the private key of {SERVER_CERTIFICATE}", _NEW_SERVER
            )


def _times(name: str, certificate: x509.Certificate, warning_days: int, renew: str) -> Findings:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    here = now()
    if here < begin:
        yield Finding(
            f"{name} is valid from {_day(begin)} on, and the clock here says {_day(here)}",
            "set this machine's clock (timedatectl set-ntp true)",
        )
    elif here >= end:
        yield Finding(f"{name} has expired on {_day(end)} (the clock here: {_day(here)})", renew)
    elif end - here < datetime.timedelta(days=warning_days):
        yield Finding(f"{name} expires soon, on {_day(end)}", renew)


def _day(time: datetime.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"
