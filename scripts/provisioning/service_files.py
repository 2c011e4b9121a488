"""How a kit is run for good: a systemd unit and a compose file."""

from pathlib import Path
from typing import Any

import yaml

from scripts.provisioning.consortium import Consortium, Site
from scripts.provisioning.layout import HOST, INSTALLED_AT, STATE_AT

_UNIT = """\
# For a kit at {kit}, run by a user `fglguard` with the project in /opt/fglguard/.venv.
# Install: cp {service} /etc/systemd/system/ && systemctl enable --now {service}
[Unit]
Description={description}
After=network-online.target time-sync.target
Wants=network-online.target

[Service]
User=fglguard
Environment=FGLGUARD_BIN=/opt/fglguard/.venv/bin
ExecStart={kit}/start.sh
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
PrivateTmp=yes
PrivateDevices=yes
{folders}

[Install]
WantedBy=multi-user.target
"""

_LOOK = "import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
_IMAGE = "${FGLGUARD_IMAGE:?name an image in which the project is installed (docs/deploy.md)}"


def host_service() -> str:
    """Name of the host's unit."""
    return "fglguard-superlink.service"


def site_service(site: Site) -> str:
    """Name of a site's unit."""
    return f"fglguard-{site.name}.service"


def host_unit(consortium: Consortium) -> str:
    """The SuperLink's systemd unit."""
    description = f"SuperLink of the consortium {consortium.name}"
    return _unit(host_service(), HOST, description, consortium.host.state, None)


def site_unit(consortium: Consortium, site: Site) -> str:
    """A SuperNode's systemd unit."""
    description = f"SuperNode of site {site.name} in the consortium {consortium.name}"
    return _unit(site_service(site), site.name, description, site.state, site.data)


def _unit(service: str, name: str, description: str, state: Path, data: Path | None) -> str:
    folders = []
    if state == Path(STATE_AT) / name:
        folders.append(f"StateDirectory={Path(STATE_AT).name}/{name}")
    else:
        folders.append(f"ReadWritePaths={systemd_path(state)}")
    if data is not None:
        folders.append(f"ReadOnlyPaths=-{systemd_path(data)}")
    return _UNIT.format(
        service=service,
        kit=f"{INSTALLED_AT}/{name}",
        description=description.replace("%", "%%").replace("\\", "\\\\"),
        folders="\n".join(folders),
    )


def systemd_path(path: Path) -> str:
    """A path as one word of a unit."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def host_compose(consortium: Consortium) -> str:
    """The SuperLink as a compose service."""
    host = consortium.host
    service = _service(host.state, host.health_port, [])
    service["environment"]["FGLGUARD_BIND"] = "0.0.0.0"
    service["ports"] = [f"{host.port}:{host.port}"]
    return _compose("superlink", service)


def site_compose(site: Site) -> str:
    """A SuperNode as a compose service; it only connects outwards."""
    return _compose("supernode", _service(site.state, site.health_port, [_mount(site.data, True)]))


def _service(state: Path, health_port: int, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "image": _IMAGE,
        "command": ["/kit/start.sh"],
        # Private keys are readable by their owner alone: run as the user who owns the kit.
        "user": "${FGLGUARD_USER:?name the owner of the kit as UID:GID}",
        "environment": {"FGLGUARD_STATE": _plain(str(state)), "HOME": "/tmp"},
        "volumes": [
            {"type": "bind", "source": ".", "target": "/kit", "read_only": True},
            _mount(state, False),
            *mounts,
        ],
        "restart": "on-failure",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "healthcheck": {
            "test": ["CMD", "python3", "-c", _LOOK.format(port=health_port)],
            "interval": "30s",
            "timeout": "10s",
            "start_period": "60s",
        },
    }


def _mount(path: Path, read_only: bool) -> dict[str, Any]:
    # At the same place as outside: site.toml then holds in both.
    text = _plain(str(path))
    return {"type": "bind", "source": text, "target": text, "read_only": read_only}


def _compose(name: str, service: dict[str, Any]) -> str:
    return yaml.safe_dump(
        {"services": {name: service}}, sort_keys=False, allow_unicode=True, width=1000
    )


def _plain(text: str) -> str:
    """A text in which compose replaces nothing."""
    return text.replace("$", "$$")
