"""The guard that the host sends at the end of a run: checked, then kept where the site says."""

import hashlib
import secrets
from pathlib import Path

from flwr.app import Context, Message

from client.state import name_at_site
from fglguard.bundle import GUARD_FILE, MODEL_FILE, SIGNATURE_FILE, bundle_of
from fglguard.errors import BundleError, OutputError, SettingsError
from fglguard.files import write_folder
from fglguard.signature import PublicKey, read_public_key

GUARDS_PATH = "guards-path"
"""Key of a SuperNode's node config: the folder that guards go to, absolute."""
HOST_KEY = "host-key"
"""Key of it: the public key that they must be signed with, the text of `host.pub`."""
LATEST = "latest"
"""A link beside the guards to the one that came last."""
_FILES = {GUARD_FILE, MODEL_FILE, SIGNATURE_FILE}


def wants_guard(context: Context) -> bool:
    """Whether a site's node config names a folder for guards.

    Raises:
        SettingsError: A key is misspelt, the folder is not absolute, or there is no key that says
            whose guards are taken.
        SignatureError: That key is none.
    """
    for key in context.node_config:
        if "guard" in key.lower() and key != GUARDS_PATH:
            raise SettingsError(f"node config: expected the key {GUARDS_PATH}, got {key}")
    if not context.node_config.get(GUARDS_PATH):
        return False
    _guards_path(context)
    _host_key(context)
    return True


def keep_guard(message: Message, context: Context) -> str:
    """Check a guard whole, and write it beside, then in its place, for its owner alone.

    It becomes the folder RUN below `guards-path`, RUN being the name of the run's folder at the
    host, and the link `latest` leads to it.

    Returns:
        Hex SHA-256 of its `guard.json`.

    Raises:
        SettingsError: The site wants none, or the run's name can't be a folder's.
        BundleError: A file is missing, a byte was changed, or the host's key has not signed it.
        OutputError: It can't be written; what was there before stays.
    """
    if not wants_guard(context):
        raise SettingsError(f"node config: no {GUARDS_PATH}, so no guard is wanted")
    name = name_at_site(str(message.content["config"]["run_folder"]))
    if name == LATEST:
        raise SettingsError(f"run_folder: expected another name than {LATEST}")
    target = _guards_path(context) / name
    files = {key: array.numpy().tobytes() for key, array in message.content["guard"].items()}
    if set(files) != _FILES:
        raise BundleError(f"{target}: expected the files {', '.join(sorted(_FILES))}")
    bundle_of(files, target, _host_key(context))
    try:
        write_folder(target, files, 0o600)
        _link(target)
    except OSError as error:
        raise OutputError(f"{target}: the guard can't be written: {error.strerror}") from error
    return hashlib.sha256(files[GUARD_FILE]).hexdigest()


def _guards_path(context: Context) -> Path:
    path = Path(str(context.node_config[GUARDS_PATH]))
    if not path.is_absolute():
        raise SettingsError(f"node config: {GUARDS_PATH}: expected an absolute path, got {path}")
    return path


def _host_key(context: Context) -> PublicKey:
    if HOST_KEY not in context.node_config:
        raise SettingsError(
            f"node config: expected {HOST_KEY}='ssh-ed25519 ...' beside {GUARDS_PATH}: the key "
            f"that guards must be signed with"
        )
    return read_public_key(str(context.node_config[HOST_KEY]))


def _link(target: Path) -> None:
    # Beside, then renamed: whoever reads the link finds a guard at any time.
    beside = target.parent / f".{LATEST}.{secrets.token_hex(8)}"
    beside.symlink_to(target.name)
    try:
        beside.replace(target.parent / LATEST)
    except OSError:
        beside.unlink()
        raise
