"""`config.toml` of the host's kit: where Flower's own commands find the SuperLink."""

from pathlib import Path

from scripts.provisioning.consortium import joined_address
from scripts.provisioning.kit_files import put
from scripts.provisioning.layout import CA_CERTIFICATE, FLOWER_CONFIG
from scripts.provisioning.site_config import toml_string

CONNECTION = "host"


def flower_config_text(kit: Path, address: str, port: int) -> str:
    """The file's content; Flower wants the authority's path absolute, so it follows the kit."""
    authority = toml_string(str(kit.resolve() / CA_CERTIFICATE))
    return (
        f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
        f"address = {toml_string(joined_address(address, port))}\n"
        f"root-certificates = {authority}\n"
    )


def write_flower_config(kit: Path, address: str, port: int) -> None:
    """Write it for a kit that stands where it stands now."""
    put(kit / FLOWER_CONFIG, flower_config_text(kit, address, port))
