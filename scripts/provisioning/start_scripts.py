"""`start.sh` of a kit: POSIX shell that finds the installed programs and becomes one of them."""

import shlex
from pathlib import Path

from scripts.provisioning.consortium import Host, Site, joined_address

_PREPARE = """\
#!/bin/sh
# {purpose}
# Further arguments are passed on. Environment: FGLGUARD_BIN, the folder of the installed programs
# (otherwise they are looked for in PATH); FGLGUARD_STATE, another folder for what is kept.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)
if [ -n "${{FGLGUARD_BIN:-}}" ]; then
    bin=$(CDPATH= cd -- "$FGLGUARD_BIN" && pwd -P) || exit 127
    PATH=$bin${{PATH:+:$PATH}}
    export PATH
fi
command -v {program} >/dev/null || {{
    echo "start.sh: {program} was not found: set FGLGUARD_BIN to the folder of the programs" >&2
    exit 127
}}
umask 077
state=${{FGLGUARD_STATE:-{state}}}
# An empty working directory: Flower would import code that lies about in it.
mkdir -p -- "$state/flower" "$state/empty"
state=$(CDPATH= cd -- "$state" && pwd -P)
cd -- "$state/empty"
export FLWR_HOME="$state/flower"
export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1
export FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1 RAY_USAGE_STATS_ENABLED=0
# Flower starts a process a message: none should wait for its work, or compile torch anew.
export FLWR_SUPEREXEC_TASK_POLL_INTERVAL=0.1
export PYTHONPYCACHEPREFIX="${{PYTHONPYCACHEPREFIX:-$state/bytecode}}" PYTHONDONTWRITEBYTECODE=
# Sums are equal on every machine only with one thread a process.
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
"""

_SUPERLINK = """\
exec flower-superlink \\
    --ssl-ca-certfile "$here/ca.crt" \\
    --ssl-certfile "$here/server.pem" \\
    --ssl-keyfile "$here/server.key" \\
    --enable-supernode-auth \\
    --host "${{FGLGUARD_BIND:-{bind}}}" --port {port} \\
    --database "$state/superlink.db" \\
    --health-server-address "${{FGLGUARD_HEALTH:-127.0.0.1:{health}}}" \\
    --disable-runtime-dependency-installation \\
    "$@"
"""

_SUPERNODE = """\
key=${{FGLGUARD_SITE_KEY:-$here/site.key}}
case $key in /*) ;; *) key=$OLDPWD/$key ;; esac
[ -r "$key" ] || {{
    echo "start.sh: $key: the site's private key is not there or can't be read" >&2
    exit 1
}}
# site.toml is the node config: the one place for the silo, the privacy floor and the log.
exec flower-supernode \\
    --superlink {superlink} \\
    --root-certificates "$here/ca.crt" \\
    --auth-supernode-private-key "$key" \\
    --node-config "$here/site.toml" \\
    --host 127.0.0.1 --port "${{FGLGUARD_PORT:-{port}}}" \\
    --health-server-address "${{FGLGUARD_HEALTH:-127.0.0.1:{health}}}" \\
    "$@"
"""


def host_start(host: Host) -> str:
    """The script that becomes the SuperLink."""
    prepare = _prepare("Starts the consortium's SuperLink.", "flower-superlink", host.state)
    return prepare + _SUPERLINK.format(bind=host.bind, port=host.port, health=host.health_port)


def site_start(site: Site, host: Host) -> str:
    """The script that becomes a site's SuperNode."""
    purpose = f"Starts the SuperNode of site {site.name}."
    return _prepare(purpose, "flower-supernode", site.state) + _SUPERNODE.format(
        superlink=shlex.quote(joined_address(host.address, host.port)),
        port=site.port,
        health=site.health_port,
    )


def _prepare(purpose: str, program: str, state: Path) -> str:
    return _PREPARE.format(purpose=purpose, program=program, state=shell_default(str(state)))


def shell_default(text: str) -> str:
    """A text as it may stand after `${NAME:-`: every character that the shell reads is escaped.

    Quotes would not do: within the braces `}` ends the word.
    """
    return "".join(c if c.isalnum() or c in "/._-" else f"\\{c}" for c in text)
