"""What a run changes, and above all what it leaves as it was."""

import json
import stat
import subprocess

import pytest

from fglguard.errors import FederationError, OutputError, SettingsError
from scripts.provision import main
from scripts.provisioning.key_pairs import new_site_key, public_text_of
from scripts.provisioning.kit_files import put_new_private
from server.roster import read_roster


def add_site(kits, name="west", **more):
    site = {"site": name, "domain": "c", "data": "west silo", "state": f"state/{name}", **more}
    kits.values["sites"].append(site)


def roster(kits):
    return json.loads((kits / "host" / "roster.json").read_text(encoding="utf-8"))


def bind(kits, nodes):
    """What registration does to the roster."""
    record = roster(kits)
    for entry, node in zip(record["sites"], nodes, strict=True):
        entry["node"] = node
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (kits / "host" / "roster.json").write_text(text, encoding="utf-8")


def test_a_second_run_touches_no_file(kits):
    kits.make()
    before = kits.contents()
    assert kits.make() == []
    assert kits.contents() == before


def test_kits_hold_what_they_should_and_the_authoritys_key_stands_apart(kits):
    kits.make()
    names = {name.split("/")[0]: set() for name in kits.contents()}
    for name in kits.contents():
        folder, _, file = name.partition("/")
        names[folder].add(file)
    assert names["authority"] == {"ca.crt", "ca.key", "keys.json"}
    assert {"server.pem", "server.key", "host.key", "host.pub", "sites/north.pub"} < names["host"]
    assert not {"ca.key", "site.key"} & names["host"]
    assert {"ca.crt", "site.key", "site.pub", "host.pub", "site.toml"} < names["north"]
    assert not {"ca.key", "host.key", "server.key", "roster.json"} & names["north"]


def test_private_files_and_only_they_are_closed_to_others(kits):
    kits.make()
    for name, (content, mode, _) in kits.contents().items():
        assert (mode == 0o600) == (b"PRIVATE KEY" in content), name
    assert stat.S_IMODE((kits / "authority").stat().st_mode) == 0o700


def test_the_roster_is_one_that_the_server_reads(kits):
    kits.values["sites"][0]["max_nodes"] = 900
    kits.make()
    members = read_roster(kits / "host" / "roster.json").members
    assert [(one.site, one.domain) for one in members] == [("north", "a"), ("south", "b")]
    assert [one.max_nodes for one in members] == [900, None]
    entry = roster(kits)["sites"][1]
    assert f"{entry['public_key']}\n" == (kits / "south" / "site.pub").read_text()


def test_a_new_site_changes_nothing_for_the_others(kits):
    kits.make()
    bind(kits, [11, 12])
    before = kits.contents("north") | kits.contents("south") | kits.contents("authority")
    add_site(kits)
    kits.make()
    after = kits.contents()
    changed = {name for name, what in before.items() if after[name] != what}
    assert changed == {"authority/keys.json"}
    assert [entry.get("node") for entry in roster(kits)["sites"]] == [11, 12, None]


def test_a_site_that_left_is_revoked_and_its_kit_put_away(kits):
    kits.make()
    bind(kits, [11, 12])
    key = (kits / "north" / "site.pub").read_text().strip()
    before = kits.contents("south")
    del kits.values["sites"][0]
    assert any("north: left" in note for note in kits.make())
    assert kits.contents("south") == before
    assert [entry["site"] for entry in roster(kits)["sites"]] == ["south"]
    assert roster(kits)["revoked"] == [{"site": "north", "node": 11, "public_key": key}]
    assert not (kits / "north").exists() and not (kits / "host" / "sites" / "north.pub").exists()
    assert (kits / "revoked" / "north-1" / "site.key").exists()
    # Nothing more is done about it later.
    before = kits.contents()
    kits.make()
    assert kits.contents() == before


def test_a_site_that_comes_back_gets_another_key(kits):
    kits.make()
    key, site = (kits / "north" / "site.pub").read_text(), kits.values["sites"][0]
    del kits.values["sites"][0]
    kits.make()
    kits.values["sites"].append(site)
    kits.make()
    assert (kits / "north" / "site.pub").read_text() != key
    assert len(roster(kits)["revoked"]) == 1


def test_a_rotation_gives_one_site_new_keys_and_revokes_the_old(kits):
    kits.make()
    bind(kits, [11, 12])
    old, others = kits.contents("north"), kits.contents("south")
    kits.make("north")
    new = kits.contents("north")
    changed = {name for name in old if old[name] != new[name]}
    assert changed == {"north/site.key", "north/site.pub"}
    assert kits.contents("south") == others
    assert [entry.get("node") for entry in roster(kits)["sites"]] == [None, 12]
    assert [entry["node"] for entry in roster(kits)["revoked"]] == [11]
    text = public_text_of((kits / "north" / "site.key").read_bytes(), "site.key")
    assert f"{text}\n" == (kits / "north" / "site.pub").read_text()


def test_a_rotation_of_the_host_leaves_sites_authority_and_bundle_key(kits):
    kits.make()
    before = kits.contents()
    kits.make("host")
    after = kits.contents()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"host/server.key", "host/server.pem"}


def test_another_name_of_the_host_renews_its_certificate_and_keeps_its_key(kits):
    kits.make()
    before = kits.contents()
    kits.values["host"]["also"] = ["guard.example.org"]
    kits.make()
    after = kits.contents()
    assert {name for name in before if before[name] != after[name]} == {"host/server.pem"}


def test_a_kit_that_was_handed_over_and_deleted_is_not_given_another_key(kits):
    kits.make()
    key = (kits / "north" / "site.pub").read_text()
    (kits / "north" / "site.key").unlink()
    assert kits.make() == []
    assert not (kits / "north" / "site.key").exists()
    assert (kits / "north" / "site.pub").read_text() == key


def test_a_site_may_bring_its_own_public_key(kits, tmp_path):
    private = new_site_key()
    public = public_text_of(private, "own")
    (tmp_path / "own.pub").write_text(f"{public} me@there\n", encoding="utf-8")
    add_site(kits, public_key="own.pub")
    kits.make()
    assert not (kits / "west" / "site.key").exists()
    assert (kits / "west" / "site.pub").read_text() == f"{public}\n"
    assert "Put your own private key here" in (kits / "west" / "README.md").read_text()

    # Another key comes only by a rotation, a revoked one never again.
    second = public_text_of(new_site_key(), "second")
    (tmp_path / "own.pub").write_text(second, encoding="utf-8")
    before = kits.contents()
    with pytest.raises(FederationError, match="--rotate west"):
        kits.make()
    assert kits.contents() == before
    kits.make("west")
    assert (kits / "west" / "site.pub").read_text() == f"{second}\n"
    (tmp_path / "own.pub").write_text(public, encoding="utf-8")
    with pytest.raises(FederationError, match="got the one revoked for site west"):
        kits.make("west")


def test_two_sites_with_one_key_are_refused_before_anything_is_written(kits, tmp_path):
    (tmp_path / "own.pub").write_text(public_text_of(new_site_key(), "own"), encoding="utf-8")
    add_site(kits, public_key="own.pub")
    add_site(kits, "east", public_key="own.pub")
    with pytest.raises(FederationError, match=r"site east: .* got site west's"):
        kits.make()
    assert not kits.folder.exists()


def test_a_site_that_brings_its_key_later_loses_the_one_that_was_made_here(kits, tmp_path):
    kits.make()
    (tmp_path / "own.pub").write_text(public_text_of(new_site_key(), "own"), encoding="utf-8")
    kits.values["sites"][0]["public_key"] = "own.pub"
    kits.make("north")
    assert not (kits / "north" / "site.key").exists()


def test_a_first_run_that_was_interrupted_is_finished_with_the_same_keys(kits):
    kits.make()
    before = kits.contents()
    # Keys are written first, then the ledger, then the rest.
    for name in before:
        if not name.endswith((".key", "ca.crt")):
            (kits / name).unlink()
    kits.make()
    after = kits.contents()
    private = [name for name in before if name.endswith(".key")]
    assert [after[name] for name in private] == [before[name] for name in private]
    assert after["north/site.pub"][0] == before["north/site.pub"][0]


def test_a_private_key_that_is_not_the_recorded_one_is_not_overwritten(kits):
    kits.make()
    other = new_site_key()
    (kits / "north" / "site.key").write_bytes(other)
    with pytest.raises(FederationError, match="expected the private key of the site's public one"):
        kits.make()
    assert (kits / "north" / "site.key").read_bytes() == other
    with pytest.raises(OutputError, match="not overwritten"):
        put_new_private(kits / "north" / "site.key", b"")


@pytest.mark.parametrize("lost", ["ca.key", "ca.crt"])
def test_a_lost_authority_is_not_replaced_in_silence(kits, lost):
    kits.make()
    (kits / "authority" / lost).unlink()
    with pytest.raises(FederationError, match="a new authority would lock out every site"):
        kits.make()


def test_a_rotation_of_nobody_is_refused(kits):
    with pytest.raises(SettingsError, match="got 'nroth'; did you mean north"):
        kits.make("nroth")


def test_the_command_tells_an_error_in_one_line(kits, capsys):
    kits.values["sites"][0]["domian"] = "x"
    with pytest.raises(SettingsError):
        kits.make()
    assert main([str(kits.file), "-o", str(kits.folder)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and "sites[0].domian: unknown key" in said
    assert said.count("\n") == 1


def test_the_command_makes_kits_and_says_when_nothing_is_new(kits, capsys):
    kits.make()
    assert main([str(kits.file), "-o", str(kits.folder)]) == 0
    assert capsys.readouterr().out == "nothing new\n"


def test_the_scripts_are_shell_that_parses(kits):
    kits.make()
    for name in ("host", "north"):
        command = ["sh", "-n", str(kits / name / "start.sh")]
        subprocess.run(command, check=True, timeout=60)
