"""Names of the files of kits, as every part of provisioning and of the checks uses them."""

AUTHORITY = "authority"
HOST = "host"
REVOKED = "revoked"
RESERVED = (AUTHORITY, HOST, REVOKED)
"""Folders of the kits' folder that are no site's."""

CA_CERTIFICATE = "ca.crt"
CA_KEY = "ca.key"
LEDGER = "keys.json"

SERVER_CERTIFICATE = "server.pem"
SERVER_KEY = "server.key"
BUNDLE_KEY = "host.key"
BUNDLE_PUBLIC_KEY = "host.pub"
ROSTER = "roster.json"
SITE_KEYS = "sites"
FLOWER_CONFIG = "config.toml"
RUN_CONFIG = "run.toml"

SITE_KEY = "site.key"
SITE_PUBLIC_KEY = "site.pub"
SITE_CONFIG = "site.toml"

KIT = "kit.toml"
START = "start.sh"
COMPOSE = "compose.yaml"
README = "README.md"

INSTALLED_AT = "/etc/fglguard"
"""Where the systemd units expect a kit: a folder of the kit's name below it."""
STATE_AT = "/var/lib/fglguard"
"""Where a database or a site's log stands unless the consortium file says otherwise."""
