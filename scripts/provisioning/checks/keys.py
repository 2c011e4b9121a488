"""Keys: of the right kind, and those that the roster and the other files of the kit name."""

import shlex
from collections.abc import Callable
from pathlib import Path

from fglguard.errors import FederationError
from scripts.provisioning.checks.finding import Finding, Findings, found
from scripts.provisioning.checks.private_files import check_private
from scripts.provisioning.key_pairs import bundle_public_text, public_text_of, site_public_text
from scripts.provisioning.layout import (
    BUNDLE_KEY,
    BUNDLE_PUBLIC_KEY,
    ROSTER,
    SERVER_KEY,
    SITE_CONFIG,
    SITE_KEYS,
    SITE_PUBLIC_KEY,
)
from scripts.provisioning.roster_file import read_roster_file
from scripts.provisioning.site_config import SiteConfig
from server.roster import read_roster

_ReadPublic = Callable[[bytes, Path], str]
_NEW_KIT = "get the kit anew from where it was made"
_PROVISION = "provision again and copy roster.json and sites/ from there"


def check_host_keys(kit: Path) -> Findings:
    """Server key, bundle key and roster of the host's kit."""
    yield from check_private(kit / SERVER_KEY, _NEW_KIT)
    yield from check_private(kit / BUNDLE_KEY, _NEW_KIT)
    yield from _pair(kit / BUNDLE_KEY, kit / BUNDLE_PUBLIC_KEY, bundle_public_text)
    try:
        roster = read_roster_file(kit / ROSTER)
        fresh = [bound.site for bound in roster.sites if bound.node is None]
        if fresh and len(fresh) < len(roster.sites):
            yield Finding(
                f"{ROSTER}: not registered yet: {', '.join(fresh)}",
                f"start the SuperLink, then provision.py register {shlex.quote(str(kit))}",
            )
        else:
            read_roster(kit / ROSTER)
    except FederationError as error:
        yield found(error, _PROVISION)
        return
    for bound in roster.sites:
        path = kit / SITE_KEYS / f"{bound.site}.pub"
        try:
            of_roster = site_public_text(bound.public_key, f"{ROSTER}: site {bound.site}")
            of_file = site_public_text(path.read_bytes(), path)
        except FederationError as error:
            yield found(error, _PROVISION)
        except OSError as error:
            yield Finding(f"{path}: {error.strerror}", _PROVISION)
        else:
            if of_roster != of_file:
                yield Finding(f"{path} is not the key that {ROSTER} has for it", _PROVISION)


def check_site_keys(kit: Path, private: Path) -> Findings:
    """A site's key pair and the host's public key.

    Args:
        kit: The site's kit.
        private: Its private key.
    """
    yield from check_private(
        private, "put the site's private key there, or name it in FGLGUARD_SITE_KEY"
    )
    yield from _pair(private, kit / SITE_PUBLIC_KEY, site_public_text)
    path = kit / BUNDLE_PUBLIC_KEY
    try:
        bundle_public_text(path.read_bytes(), path)
    except FederationError as error:
        yield found(error, _NEW_KIT)
    except OSError as error:
        yield Finding(f"{path}: {error.strerror}", _NEW_KIT)


def check_signer(kit: Path, config: SiteConfig) -> Findings:
    """The key that guards must be signed with: the one that came with the kit."""
    path = kit / BUNDLE_PUBLIC_KEY
    try:
        wanted = bundle_public_text(config.host_key, f"{SITE_CONFIG}: host-key")
        if path.is_file() and bundle_public_text(path.read_bytes(), path) != wanted:
            yield Finding(f"host-key in {SITE_CONFIG} is not the key of {path}", _NEW_KIT)
    except FederationError as error:
        yield found(error, _NEW_KIT)


def _pair(private: Path, public: Path, read_public: _ReadPublic) -> Findings:
    try:
        text = read_public(public.read_bytes(), public)
        if not private.exists():
            # Said already.
            return
        own = public_text_of(private.read_bytes(), private)
    except FederationError as error:
        yield found(error, _NEW_KIT)
    except OSError as error:
        yield Finding(f"{error.filename}: {error.strerror}", _NEW_KIT)
    else:
        if own != text:
            yield Finding(f"{private} is not the private key of {public}", _NEW_KIT)
