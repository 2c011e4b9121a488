"""The files of the host's kit and of each site's, from the consortium and its keys."""

from pathlib import Path

from scripts.provisioning.consortium import Consortium, Site
from scripts.provisioning.flower_config import write_flower_config
from scripts.provisioning.kit_files import EXECUTABLE, put
from scripts.provisioning.kit_record import kit_record, kit_text
from scripts.provisioning.layout import (
    BUNDLE_PUBLIC_KEY,
    CA_CERTIFICATE,
    COMPOSE,
    KIT,
    README,
    ROSTER,
    SITE_CONFIG,
    SITE_KEYS,
    SITE_PUBLIC_KEY,
    START,
)
from scripts.provisioning.ledger import Ledger
from scripts.provisioning.readmes import host_readme, site_readme
from scripts.provisioning.roster_file import read_roster_file, roster_of, write_roster_file
from scripts.provisioning.run_config import write_run_config
from scripts.provisioning.service_files import (
    host_compose,
    host_service,
    host_unit,
    site_compose,
    site_service,
    site_unit,
)
from scripts.provisioning.site_config import site_config, site_config_text
from scripts.provisioning.start_scripts import host_start, site_start


def write_host_kit(
    kit: Path, consortium: Consortium, ledger: Ledger, authority: bytes, bundle_key: str
) -> None:
    """Write all that is not a secret of the host's kit, where it changed.

    Args:
        kit: Its folder.
        consortium: What the file says.
        ledger: The sites' public keys.
        authority: The authority's certificate.
        bundle_key: The host's public key, for guard bundles.

    Raises:
        FederationError: The roster that is there is damaged.
    """
    host = consortium.host
    put(kit / CA_CERTIFICATE, authority)
    before = read_roster_file(kit / ROSTER) if (kit / ROSTER).exists() else None
    write_roster_file(kit / ROSTER, roster_of(consortium, ledger, before))
    keys = {f"{site}.pub": key for site, key in ledger.keys.items()}
    for name, key in keys.items():
        put(kit / SITE_KEYS / name, f"{key}\n")
    for path in (kit / SITE_KEYS).iterdir():
        if path.suffix == ".pub" and path.name not in keys:
            path.unlink()
    write_flower_config(kit, host.address, host.port, kit / CA_CERTIFICATE)
    write_run_config(kit, consortium)
    put(kit / KIT, kit_text(kit_record(consortium, "host", host.state, host.health_port)))
    put(kit / START, host_start(host), EXECUTABLE)
    put(kit / host_service(), host_unit(consortium))
    put(kit / COMPOSE, host_compose(consortium))
    put(kit / README, host_readme(consortium, bundle_key))


def write_site_kit(
    kit: Path, consortium: Consortium, site: Site, key: str, authority: bytes, bundle_key: str
) -> None:
    """Write all that is not a secret of a site's kit, where it changed.

    Args:
        kit: Its folder.
        consortium: What the file says.
        site: The site.
        key: Its public key.
        authority: The authority's certificate.
        bundle_key: The host's public key, for guard bundles.
    """
    put(kit / CA_CERTIFICATE, authority)
    put(kit / SITE_PUBLIC_KEY, f"{key}\n")
    put(kit / BUNDLE_PUBLIC_KEY, f"{bundle_key}\n")
    put(kit / SITE_CONFIG, site_config_text(site_config(consortium, site, bundle_key)))
    put(kit / KIT, kit_text(kit_record(consortium, "site", site.state, site.health_port)))
    put(kit / START, site_start(site, consortium.host), EXECUTABLE)
    put(kit / site_service(site), site_unit(consortium, site))
    put(kit / COMPOSE, site_compose(site))
    put(kit / README, site_readme(consortium, site, bundle_key))
