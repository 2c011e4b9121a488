import socket

import pytest
import yaml

from scripts.provisioning.consortium import read_consortium
from scripts.provisioning.provisioning import Provisioning


def free_ports(count):
    """Ports that nothing listens on now, each another."""
    holders = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()


def values(**changes):
    """A valid consortium file of two sites, as values."""
    return {
        "name": "Two",
        "host": {"address": "127.0.0.1", "port": 18443, "bind": "127.0.0.1", "state": "state/host"},
        "encoder": "hashed-words",
        "require_privacy": "none",
        "sites": [
            {"site": "north", "domain": "a", "data": "north silo", "state": "state/north"},
            {"site": "south", "domain": "b", "data": "south silo", "state": "state/south"},
        ],
        **changes,
    }


class Kits:
    """A folder with a consortium file and the kits made from it."""

    def __init__(self, folder):
        self.file, self.folder = folder / "consortium.yaml", folder / "kits"
        self.values = values()

    def __truediv__(self, name):
        return self.folder / name

    def make(self, *rotate):
        """Provision; returns the notes."""
        self.file.write_text(yaml.safe_dump(self.values), encoding="utf-8")
        provisioning = Provisioning(read_consortium(self.file), self.folder, rotate)
        provisioning.run()
        return provisioning.notes

    def contents(self, name=""):
        """Every file below with its bytes, mode and time of writing."""
        return {
            str(path.relative_to(self.folder)): (
                path.read_bytes(),
                path.stat().st_mode & 0o777,
                path.stat().st_mtime_ns,
            )
            for path in sorted((self.folder / name).rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def kits(tmp_path):
    return Kits(tmp_path)
