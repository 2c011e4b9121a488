"""`config.toml` of the host's kit: where Flower's own commands find the SuperLink."""

from pathlib import Path

from scripts.provisioning.consortium import joined_address
from scripts.provisioning.kit_files import put
from scripts.provisioning.layout import FLOWER_CONFIG
from scripts.provisioning.site_config import toml_string

CONNECTION = "host"


def write_flower_config(home: Path, address: str, port: int, authority: Path) -> None:
    """Write the file into a folder that is to be a FLWR_HOME.

    Args:
        home: The folder.
        address: Where the SuperLink is.
        port: Its port.
        authority: The authority's certificate; Flower wants its path absolute.
    """
    put(
        home / FLOWER_CONFIG,
        f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
        f"address = {toml_string(joined_address(address, port))}\n"
        f"root-certificates = {toml_string(str(authority.resolve()))}\n",
    )
