"""All that is wrong with a kit, told at once."""

import os
from pathlib import Path

from fglguard.errors import FederationError
from scripts.provisioning.checks.authority import check_authority, check_server
from scripts.provisioning.checks.finding import Finding, Findings, found
from scripts.provisioning.checks.keys import check_host_keys, check_signer, check_site_keys
from scripts.provisioning.checks.reach import check_reach
from scripts.provisioning.checks.silo_fit import check_encoder, check_silo
from scripts.provisioning.checks.start_script import check_start
from scripts.provisioning.checks.state_folder import check_writable
from scripts.provisioning.checks.versions import check_versions
from scripts.provisioning.kit_record import KitRecord, read_kit_record
from scripts.provisioning.layout import SITE_KEY
from scripts.provisioning.site_config import read_site_config


def check_kit(kit: Path) -> list[Finding]:
    """Check a kit where it stands, as the user who will start it.

    Raises:
        FederationError: The folder is no kit.
    """
    record = read_kit_record(kit)
    checks = _host if record.kind == "host" else _site
    return [*check_authority(kit, record), *check_start(kit), *checks(kit, record)]


def _host(kit: Path, record: KitRecord) -> Findings:
    yield from check_server(kit, record)
    yield from check_host_keys(kit)
    yield from check_writable(_state(record))
    yield from check_reach(kit, record, must_listen=False)
    yield from check_versions(record, "flower-superlink")


def _site(kit: Path, record: KitRecord) -> Findings:
    yield from check_site_keys(kit, Path(os.environ.get("FGLGUARD_SITE_KEY", kit / SITE_KEY)))
    yield from check_writable(_state(record))
    yield from check_reach(kit, record)
    yield from check_versions(record, "flower-supernode")
    try:
        config = read_site_config(kit)
    except FederationError as error:
        yield found(error, "correct it, or get the kit anew from where it was made")
        return
    yield from check_signer(kit, config)
    yield from check_writable(Path(config.sent_log).parent)
    yield from check_encoder(config)
    yield from check_silo(config)


def _state(record: KitRecord) -> Path:
    return Path(os.environ.get("FGLGUARD_STATE", record.state))
