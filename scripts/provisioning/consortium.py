"""The consortium file: who hosts, who takes part, and what they agreed on."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from fglguard.encoder import ENCODERS
from privacy.plans import LADDER
from scripts.provisioning.fields import Fields
from scripts.provisioning.layout import HOST, RESERVED, STATE_AT
from scripts.provisioning.yaml_file import read_yaml

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9_-])?")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MOST_DAYS = 36500
_PORTS = (1, 65535)


@dataclass(frozen=True)
class Host:
    """Where the SuperLink runs.

    Attributes:
        address: Name or IP under which the sites reach it.
        port: Its one HTTPS port.
        also: Further names and IPs that its certificate is valid for.
        bind: IP that it listens on.
        health_port: Of its health server, on loopback.
        state: Folder for its database, at the host.
    """

    address: str
    port: int
    also: tuple[str, ...]
    bind: str
    health_port: int
    state: Path


@dataclass(frozen=True)
class Site:
    """One site.

    Attributes:
        name: Its name on the roster; also its kit's folder.
        domain: The one domain of its silo.
        max_nodes: The most graph nodes that its updates count for; None for no limit.
        data: Its silo, at the site.
        state: Folder for its log and guards, at the site.
        public_key: A public key that it brings itself; None where provisioning makes its key pair.
        port: Of its SuperNode's own processes, on loopback.
        health_port: Of its health server, on loopback.
    """

    name: str
    domain: str
    max_nodes: int | None
    data: Path
    state: Path
    public_key: Path | None
    port: int
    health_port: int


@dataclass(frozen=True)
class Lifetimes:
    """Days that certificates are valid for, and before the end that checks begin to warn."""

    authority: int
    server: int
    warning: int


@dataclass(frozen=True)
class Consortium:
    """What the file says.

    Attributes:
        name: For people and in the authority's certificate.
        host: The host.
        sites: The sites, in the order that fixes the order of sums.
        minimum_sites: Fewest sites that a run goes on with.
        require_privacy: The least that every site asks of a run.
        encoder: The encoder that silos are prepared with.
        lifetimes: Of certificates.
    """

    name: str
    host: Host
    sites: tuple[Site, ...]
    minimum_sites: int
    require_privacy: str
    encoder: str
    lifetimes: Lifetimes


def read_consortium(path: Path) -> Consortium:
    """Read and check a consortium file.

    Raises:
        SettingsError: It can't be read, or a key is unknown, missing or out of range.
    """
    fields = Fields(read_yaml(path), path)
    name = fields.text("name", most=50)
    host = _host(fields.mapping("host"))
    sites = tuple(_site(one) for one in fields.mappings("sites"))
    _require_distinct(sites, fields)
    minimum = fields.whole("minimum_sites", 1, 1, 100_000)
    if minimum > len(sites):
        raise fields.error(
            "minimum_sites", f"expected at most the number of sites, {len(sites)}", minimum
        )
    consortium = Consortium(
        name=name,
        host=host,
        sites=sites,
        minimum_sites=minimum,
        require_privacy=_one_of(fields, "require_privacy", LADDER, "aegis"),
        encoder=_one_of(fields, "encoder", ENCODERS, "minilm"),
        lifetimes=_lifetimes(fields.mapping("certificates", {})),
    )
    fields.finish()
    return consortium


def is_ip(text: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def joined_address(address: str, port: int) -> str:
    """`address:port`, with brackets around an IPv6 address."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _host(fields: Fields) -> Host:
    host = Host(
        address=_address(fields, "address", fields.text("address")),
        port=fields.whole("port", 8443, *_PORTS),
        also=tuple(_address(fields, "also", item) for item in fields.items("also", [])),
        bind=fields.text("bind", "0.0.0.0"),
        health_port=fields.whole("health_port", 9190, *_PORTS),
        state=fields.path("state", f"{STATE_AT}/{HOST}"),
    )
    if not is_ip(host.bind):
        raise fields.error("bind", "expected an IP to listen on, such as 0.0.0.0", host.bind)
    if host.port == host.health_port:
        raise fields.error("health_port", "expected another port than host.port", host.port)
    fields.finish()
    return host


def _site(fields: Fields) -> Site:
    name = fields.text("site", most=63)
    if not _NAME.fullmatch(name):
        # It becomes a folder, a unit and a service of a compose file.
        raise fields.error(
            "site",
            "expected letters, digits, '.', '_' and '-', beginning with one of the first"
            " two and not ending in '.'",
            name,
        )
    if name.casefold() in RESERVED:
        raise fields.error("site", f"expected another name than {', '.join(RESERVED)}", name)
    site = Site(
        name=name,
        domain=fields.text("domain"),
        max_nodes=fields.whole("max_nodes", None, 1, 10**12) if fields.has("max_nodes") else None,
        data=fields.path("data"),
        state=fields.path("state", f"{STATE_AT}/{name}"),
        public_key=fields.path("public_key") if fields.has("public_key") else None,
        port=fields.whole("port", 9094, *_PORTS),
        health_port=fields.whole("health_port", 9191, *_PORTS),
    )
    if site.port == site.health_port:
        raise fields.error("health_port", "expected another port than the site's port", site.port)
    fields.finish()
    return site


def _lifetimes(fields: Fields) -> Lifetimes:
    lifetimes = Lifetimes(
        authority=fields.whole("authority_days", 3650, 1, _MOST_DAYS),
        server=fields.whole("server_days", 397, 1, _MOST_DAYS),
        warning=fields.whole("warning_days", 30, 0, _MOST_DAYS),
    )
    if lifetimes.server > lifetimes.authority:
        raise fields.error(
            "server_days",
            f"expected at most authority_days, {lifetimes.authority}",
            lifetimes.server,
        )
    fields.finish()
    return lifetimes


def _require_distinct(sites: tuple[Site, ...], fields: Fields) -> None:
    if not sites:
        raise fields.error("sites", "expected at least one site, got none")
    seen: dict[str, int] = {}
    for index, site in enumerate(sites):
        first = seen.setdefault(site.name.casefold(), index)
        if first != index:
            # A file system that knows no case would put both kits into one folder.
            raise fields.error(
                f"sites[{index}].site", f"expected another name than sites[{first}]", site.name
            )


def _address(fields: Fields, key: str, value: object) -> str:
    if isinstance(value, str) and (is_ip(value) or _is_host_name(value)):
        return value
    raise fields.error(key, "expected a host name (in ASCII, without port) or an IP", value)


def _is_host_name(text: str) -> bool:
    labels = text.split(".")
    return len(text) <= 253 and all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdigit()


def _one_of(fields: Fields, key: str, known: tuple[str, ...], default: str) -> str:
    value = fields.text(key, default)
    if value not in known:
        raise fields.error(key, f"expected one of {', '.join(known)}", value)
    return value
