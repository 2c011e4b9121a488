"""What an operator chooses for a sidecar."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fglguard.errors import SettingsError, shown
from fglguard.live.limits import Limits
from fglguard.live.policy import AllowList, Policy
from fglguard.signature import PublicKey

_RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65535),
    "max_body": (1024, 2**30),
    "rate": (0, 1e6),
    "queue": (1, 100_000),
    "check_seconds": (0.001, 3600),
    "grace_seconds": (0, 3600),
    "slow_seconds": (0.01, 3600),
    "log_bytes": (4096, 2**40),
    "log_files": (0, 1000),
}


@dataclass(frozen=True, slots=True)
class SidecarSettings:
    """Where a sidecar listens, whom it serves, and how much it takes.

    Attributes:
        bundle: The guard's folder; read again at each reload.
        signed_by: The key that must have signed it, at each reload too; None: any guard is taken.
        host: Address to listen on.
        port: 0: one that is free.
        keys: Bearer keys.
        without_keys: Listen beyond this machine although there are no keys.
        tls_certificate: PEM; with `tls_key`.
        tls_key: PEM.
        policy: How the guard decides.
        domain: Whose threshold decides.
        log: Verdict log; None: none is kept.
        log_text: Whether texts, and taints, which quote them, stand in it.
        log_bytes: From this size on a new file is begun.
        log_files: Old files that are kept.
        log_required: Whether a check whose verdict can't be logged is an error that blocks.
        max_body: Bytes of a request's body.
        rate: Requests a second a key; 0: any number.
        queue: Requests that are worked at or wait at one time.
        check_seconds: How long a check may take.
        grace_seconds: How long a stop waits for what was taken.
        slow_seconds: How long a client may take to send a request, or to take a piece of an answer.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    bundle: Path
    signed_by: PublicKey | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    keys: tuple[str, ...] = field(default=(), repr=False)
    without_keys: bool = False
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    policy: Policy = field(default_factory=Policy)
    domain: str | None = None
    log: Path | None = None
    log_text: bool = False
    log_bytes: int = 64 * 1024 * 1024
    log_files: int = 10
    log_required: bool = False
    max_body: int = 4 * 1024 * 1024
    rate: float = 0.0
    queue: int = 64
    check_seconds: float = 5.0
    grace_seconds: float = 30.0
    slow_seconds: float = 15.0

    def __post_init__(self) -> None:
        """Hold every value to its range, and the values to each other."""
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise SettingsError(
                    f"{_option(name)}: expected {least:g} to {most:g}, got {shown(value)}"
                )
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise SettingsError("--tls-cert and --tls-key: expected both or neither, got one")
        for name in ("tls_certificate", "tls_key"):
            _check_readable(name, getattr(self, name))
        if self.log is None and (self.log_text or self.log_required):
            which = "--log-text" if self.log_text else "--log-required"
            raise SettingsError(f"{which}: expected a verdict log (--log FILE), got none")
        if not self.keys and not self.without_keys and not is_loopback(self.host):
            raise SettingsError(
                f"--host: {shown(self.host)} can be reached from other machines and there are no "
                f"keys, so anybody could use this guard; give --keys FILE, or --without-keys if "
                f"something else keeps strangers out"
            )

    @property
    def limits(self) -> Limits:
        """What the guard holds at once."""
        return Limits(check_seconds=self.check_seconds)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allow_list(
    agents: Iterable[str] = (), tools: Iterable[str] = (), hashes: Iterable[str] = ()
) -> AllowList:
    """An allow-list of what a person typed.

    Raises:
        SettingsError: A name is empty, or a hash is not a SHA-256 in hexadecimal.
    """
    wanted = frozenset(one.lower() for one in hashes)
    for one in sorted(wanted):
        if not re.fullmatch("[0-9a-f]{64}", one):
            raise SettingsError(
                f"--allow-hash: expected a SHA-256 (64 hexadecimal digits), got {shown(one)}"
            )
    named = {"--allow-agent": frozenset(agents), "--allow-tool": frozenset(tools)}
    for option, names in named.items():
        if not all(name.strip() for name in names):
            raise SettingsError(f"{option}: expected a name, got an empty one")
    return AllowList(named["--allow-agent"], named["--allow-tool"], wanted)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _check_readable(name: str, path: Path | None) -> None:
    if path is None:
        return
    option = "--tls-cert" if name == "tls_certificate" else "--tls-key"
    try:
        path.open("rb").close()
    except OSError as error:
        raise SettingsError(f"{option}: {path}: can't be read: {error.strerror}") from error
