"""`site.toml`: what a SuperNode tells its client, and what the site's own check reads."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from fglguard.errors import FederationError
from privacy.plans import LADDER
from scripts.provisioning.consortium import Consortium, Site, joined_address
from scripts.provisioning.layout import SITE_CONFIG

_KEYS = {
    "site": "The site's name on the roster; the host knows it by its key.",
    "domain": "The domain that the roster has for it; the silo must hold this one alone.",
    "data-path": "Its silo. Nothing below it leaves the site.",
    "encoder": "The encoder that the silo is prepared with.",
    "require-privacy": "A run that hides less is refused: none, aegis or aegis_extended.",
    "sent-log": "A line for everything that left the site, written before it leaves.",
    "guards-path": "Where guards that were delivered are kept; empty: none is wanted.",
    "host-key": "The key that guards must be signed with: the text of host.pub.",
    "host": "The SuperLink; start.sh has it too.",
}
_OPTIONAL = "guards-path"


@dataclass(frozen=True)
class SiteConfig:
    """A site's settings, by the keys of `site.toml` with `_` for `-`."""

    site: str
    domain: str
    data_path: str
    encoder: str
    require_privacy: str
    sent_log: str
    guards_path: str
    host_key: str
    host: str


def site_config(consortium: Consortium, site: Site, host_key: str) -> SiteConfig:
    """A site's settings as the consortium file has them.

    Args:
        consortium: What the file says.
        site: The site.
        host_key: The host's public key, for guard bundles.
    """
    return SiteConfig(
        site=site.name,
        domain=site.domain,
        data_path=str(site.data),
        encoder=consortium.encoder,
        require_privacy=consortium.require_privacy,
        sent_log=str(site.state / "sent.jsonl"),
        guards_path=str(site.state / "guards"),
        host_key=host_key,
        host=joined_address(consortium.host.address, consortium.host.port),
    )


def site_config_text(config: SiteConfig) -> str:
    """As TOML, with a comment a key."""
    lines = ["# Flower's node config of this site: `start.sh` passes this file on as it is."]
    for key, comment in _KEYS.items():
        value = toml_string(getattr(config, key.replace("-", "_")))
        lines += ["", f"# {comment}", f"{key} = {value}"]
    return "\n".join(lines) + "\n"


def read_site_config(kit: Path) -> SiteConfig:
    """Read a site's settings.

    Raises:
        FederationError: A key is missing, unknown or no text, or the privacy floor is unknown.
    """
    path = kit / SITE_CONFIG
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FederationError(f"{path}: expected TOML: {error}") from error
    values.setdefault(_OPTIONAL, "")
    for key in _KEYS:
        if key == _OPTIONAL and values[key] == "":
            continue
        if not isinstance(values.get(key), str) or not values[key]:
            raise FederationError(f"{path}: {key}: expected a text that is not empty")
    if values["require-privacy"] not in LADDER:
        raise FederationError(
            f"{path}: require-privacy: expected one of {', '.join(LADDER)}, got "
            f"{values['require-privacy']!r}"
        )
    return SiteConfig(**{key.replace("-", "_"): values[key] for key in _KEYS})


def toml_string(text: str) -> str:
    """A text as a basic string of TOML."""
    return '"' + "".join(map(_toml_character, text)) + '"'


def _toml_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if character < " " or character == "\x7f" else character
