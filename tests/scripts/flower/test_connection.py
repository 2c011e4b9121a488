"""What a host's kit must hold."""

import tomllib

import pytest

from fglguard.errors import FederationError
from scripts.flower.connection import read_connection

GOOD = '[superlink]\ndefault = "host"\n[superlink.host]\naddress = "h:1"\n'
AUTHORITY = 'root-certificates = "ca.crt"\n'


@pytest.fixture
def kit(tmp_path):
    (tmp_path / "config.toml").write_text(GOOD + AUTHORITY)
    (tmp_path / "ca.crt").touch()
    (tmp_path / "roster.json").touch()
    return tmp_path


def test_paths_count_from_the_kit_and_a_home_gets_whole_ones(kit, tmp_path):
    connection = read_connection(kit)
    assert connection.address == "h:1"
    home = tmp_path / "home"
    home.mkdir()
    connection.write(home)
    written = tomllib.loads((home / "config.toml").read_text())["superlink"]
    assert written["default"] == "host"
    assert written["host"] == {"address": "h:1", "root-certificates": str(kit / "ca.crt")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[superlink", "expected TOML"),
        ("", r"expected \[superlink\] with default = NAME"),
        ('[superlink]\ndefault = "x"\n[superlink.y]\n', "expected .superlink. with default"),
        (GOOD, "expected an address and root-certificates"),
        (GOOD + "insecure = true\n", "root-certificates for the SuperLink, got address, insecure"),
        (GOOD + 'root-certificates = "no.crt"\n', r"expected the file .*no\.crt"),
    ],
)
def test_what_is_no_kit_is_refused(kit, text, told):
    (kit / "config.toml").write_text(text)
    with pytest.raises(FederationError, match=told):
        read_connection(kit)


def test_a_folder_without_one_is_no_kit(tmp_path):
    with pytest.raises(FederationError, match="expected a host's kit"):
        read_connection(tmp_path / "nowhere")
