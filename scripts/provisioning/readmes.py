"""The page that comes with each kit, for whoever runs it."""

import shlex

from fglguard.signature import read_public_key
from scripts.provisioning.consortium import Consortium, Site, joined_address
from scripts.provisioning.layout import HOST, INSTALLED_AT
from scripts.provisioning.run_config import agreed_overrides
from scripts.provisioning.service_files import host_service, site_service

_HOST = """\
# The host of {name}

This folder starts the SuperLink that {count} sites connect to at `{address}` (TLS, one port). The
host sees masked updates and counts, never a site's episodes. Anyone who can read `server.key` or
`host.key` here can pose as the host: both are readable by their owner alone.

`$PROJECT` below is a copy of the project, installed into `$PROJECT/.venv`.

1. Move the folder to `{kit}`, owned by the user who will run it. Open port {port} to the sites.
2. Look for what is wrong before you start (exit code 0 means nothing is):
   `FGLGUARD_BIN=$PROJECT/.venv/bin $PROJECT/.venv/bin/python $PROJECT/scripts/provision.py \
--check {kit}`
3. Start it: `FGLGUARD_BIN=$PROJECT/.venv/bin {kit}/start.sh`, or for good with systemd:
   `cp {kit}/{service} /etc/systemd/system/ && systemctl enable --now {service}`, or with
   `compose.yaml`. `FGLGUARD_STATE` names another folder than `{state}`.
4. Tell it the sites' keys, once and after each change of `roster.json`:
   `FGLGUARD_BIN=$PROJECT/.venv/bin $PROJECT/.venv/bin/python $PROJECT/scripts/provision.py \
register {kit}`
5. Run, once enough sites are online; they refuse a run that hides less than `privacy={floor}`:
   `$PROJECT/.venv/bin/python $PROJECT/scripts/federate.py {kit}`
   It takes `run.toml` from here, signs the guard with `host.key` (key `{fingerprint}`)
   and sends it to each site that wants it.

Health: gRPC health service on `127.0.0.1:{health}`. What to keep safe: this folder and
`{state}/superlink.db` (registrations survive a restart; a run in flight ends and is resumed from
its checkpoint).

| File | What it is |
| --- | --- |
| `ca.crt` | the authority that every site trusts; its key is not here |
| `server.pem`, `server.key` | the SuperLink's certificate and private key |
| `host.key`, `host.pub` | signs guard bundles; every site has `host.pub` |
| `roster.json` | site, domain, public key and node id of each site; keys that were revoked |
| `sites/` | the sites' public keys, for registration |
| `config.toml` | for `FLWR_HOME`: where `flwr` finds the SuperLink |
| `run.toml` | what every run over these sites needs: privacy, encoder, fewest sites |
| `kit.toml` | what the check compares with: address, versions |
"""

_SITE = """\
# Site {site} in {name}

This folder starts the SuperNode of site `{site}` (domain `{domain}`). It connects outwards to
`{address}` and accepts no connection from outside. Your episodes stay in `{data}`; what leaves are
masked updates and counts, and each message that leaves is first written to `{log}`.

`$PROJECT` below is a copy of the project, installed into `$PROJECT/.venv`.

1. Move the folder to `{kit}`, owned by the user who will run it. {key}
2. Prepare the silo, if it is not yet: `$PROJECT/.venv/bin/fglguard corpus embed {quoted_data} \
--encoder {encoder} --preset recommended`
3. Look for what is wrong before you start (exit code 0 means nothing is):
   `FGLGUARD_BIN=$PROJECT/.venv/bin $PROJECT/.venv/bin/python $PROJECT/scripts/provision.py \
--check {kit}`
4. See what would leave, by a dry run that sends nothing:
   `$PROJECT/.venv/bin/python $PROJECT/scripts/site.py check --kit {kit} {overrides}`
5. Start it: `FGLGUARD_BIN=$PROJECT/.venv/bin {kit}/start.sh`, or for good with systemd:
   `cp {kit}/{service} /etc/systemd/system/ && systemctl enable --now {service}`, or with
   `compose.yaml`. What left so far: `$PROJECT/.venv/bin/python $PROJECT/scripts/site.py log \
{quoted_log}`

Health: gRPC health service on `127.0.0.1:{health}`. The same key is the same site after a restart.
At the end of a run the host sends the guard, signed; it is checked with `host.pub` (key
`{fingerprint}`), then kept in `{guards}/RUN`, and `{guards}/latest` leads to the newest. Use it:
`$PROJECT/.venv/bin/fglguard serve {quoted_guards}/latest --signed-by {kit}/host.pub`
With an empty `guards-path` in `site.toml` this site gets none.

You may raise `require-privacy` in `site.toml` at any time (now `{floor}`): a run that hides less
is refused, at this site, whatever the host says. Stop the process and nothing leaves.

| File | What it is |
| --- | --- |
| `site.toml` | silo, privacy floor, log, folder of guards: the settings that are yours |
| `start.sh` | starts the SuperNode; `{service}` and `compose.yaml` do it for good |
| `site.key`, `site.pub` | your key pair; whoever reads `site.key` can pose as your site |
| `ca.crt` | the authority that the host's certificate must come from |
| `host.pub` | the key that guard bundles are signed with |
| `kit.toml` | what the check compares with: address, versions |

Whom to tell what: the host, at once, if another may have read `site.key` (it revokes the key and
sends you another kit), if `--check` says that the host's certificate is not confirmed, or if you
leave; the host too, before you change the silo's domain. Never send `site.key` or episodes to
anybody, the host included.
"""
_KEY_MADE = (
    "Keep `site.key` readable by its owner alone (`chmod 600`), and see that whoever sent this "
    "kit deletes their copy."
)
_KEY_BROUGHT = (
    "Put your own private key here as `site.key` (`chmod 600`), or name it in "
    "`FGLGUARD_SITE_KEY`; it must be the one of `site.pub`."
)


def host_readme(consortium: Consortium, bundle_key: str) -> str:
    """The host's page; `bundle_key` is its public key for guard bundles."""
    host = consortium.host
    return _HOST.format(
        name=consortium.name,
        count=len(consortium.sites),
        address=joined_address(host.address, host.port),
        port=host.port,
        kit=f"{INSTALLED_AT}/{HOST}",
        service=host_service(),
        state=host.state,
        health=host.health_port,
        fingerprint=read_public_key(bundle_key).fingerprint,
        floor=consortium.require_privacy,
    )


def site_readme(consortium: Consortium, site: Site, bundle_key: str) -> str:
    """A site administrator's page; `bundle_key` is the host's public key for guard bundles."""
    return _SITE.format(
        site=site.name,
        name=consortium.name,
        domain=site.domain,
        address=joined_address(consortium.host.address, consortium.host.port),
        data=site.data,
        quoted_data=shlex.quote(str(site.data)),
        quoted_log=shlex.quote(str(site.state / "sent.jsonl")),
        log=site.state / "sent.jsonl",
        guards=site.state / "guards",
        quoted_guards=shlex.quote(str(site.state / "guards")),
        fingerprint=read_public_key(bundle_key).fingerprint,
        kit=f"{INSTALLED_AT}/{site.name}",
        key=_KEY_MADE if site.public_key is None else _KEY_BROUGHT,
        encoder=consortium.encoder,
        overrides=" ".join(agreed_overrides(consortium)),
        service=site_service(site),
        health=site.health_port,
        floor=consortium.require_privacy,
    )
