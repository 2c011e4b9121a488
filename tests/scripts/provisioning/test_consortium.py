from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fglguard.errors import SettingsError
from scripts.provisioning.consortium import read_consortium
from tests.scripts.provisioning.conftest import values

ROOT = Path(__file__).resolve().parents[3]


def read(folder, given):
    path = folder / "c.yaml"
    path.write_text(given if isinstance(given, str) else yaml.safe_dump(given), encoding="utf-8")
    return read_consortium(path)


def test_the_commented_example_is_valid_and_its_defaults_are_those_of_the_code(tmp_path):
    example = read_consortium(ROOT / "docs" / "consortium.yaml")
    assert [site.name for site in example.sites] == ["north", "south", "west"]
    silo = "/srv/fglguard/silo"
    # The keys marked (optional) with a default, left out.
    least = {
        "name": example.name,
        "host": {"address": "guard.example.org", "also": ["10.20.0.5"]},
        "minimum_sites": 2,
        "sites": [
            {
                "site": "north",
                "domain": "banking",
                "data": silo,
                "max_nodes": 20000,
            },
            {"site": "south", "domain": "travel", "data": silo},
            {"site": "west", "domain": "workspace", "data": silo},
        ],
    }
    assert read(tmp_path, least) == example


def test_relative_paths_count_from_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    consortium = read(tmp_path, values())
    assert consortium.sites[0].data == tmp_path / "north silo"
    assert consortium.host.state == tmp_path / "state" / "host"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("host.address", "https://x:1", "host.address: expected a host name"),
        ("host.address", "1.2.3", "host.address: expected a host name"),
        ("host.also", ["a b"], "host.also: expected a host name"),
        ("host.also", [7], "host.also: expected a host name"),
        ("host.port", 0, "host.port: expected a whole number from 1 to 65535, got 0"),
        ("host.port", True, "host.port: expected a whole number"),
        ("host.bind", "localhost", "host.bind: expected an IP"),
        ("host.health_port", 18443, "host.health_port: expected another port"),
        ("host", 3, "host: expected keys and values, got 3"),
        ("minimum_sites", 3, "minimum_sites: expected at most the number of sites, 2, got 3"),
        ("require_privacy", "egis", "require_privacy: expected one of none, aegis"),
        ("encoder", "bert", "encoder: expected one of minilm"),
        ("certificates.server_days", 9999, "certificates.server_days: expected at most"),
        ("certificates.days", 9, "certificates.days: unknown key"),
        ("minimun_sites", 1, "minimun_sites: unknown key; did you mean minimum_sites?"),
        ("sites", [], "sites: expected at least one site"),
        ("sites", {}, "sites: expected a list, got a dict"),
        ("sites", ["north"], "sites[0]: expected keys and values, got 'north'"),
        ("sites.1.site", "NORTH", "sites[1].site: expected another name than sites[0]"),
        ("sites.1.site", "a b", "sites[1].site: expected letters"),
        ("sites.1.site", "../x", "sites[1].site: expected letters"),
        ("sites.1.site", "-o", "sites[1].site: expected letters"),
        ("sites.1.site", "authority", "sites[1].site: expected another name than authority"),
        ("sites.1.site", 5, "sites[1].site: expected a text (put it in quotes), got 5"),
        ("sites.1.domain", None, "sites[1].domain: expected a value, got none"),
        ("sites.1.domain", "a\nb", "sites[1].domain: expected a text without control"),
        ("sites.1.data", "~/silo", "sites[1].data: expected a path without ~"),
        ("sites.1.max_nodes", 0, "sites[1].max_nodes: expected a whole number from 1"),
        ("sites.1.domian", "b", "sites[1].domian: unknown key; did you mean domain?"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(tmp_path, key, value, said):
    wrong = values(certificates={})
    *parents, last = key.split(".")
    place = wrong
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[last] = value
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, wrong)
    assert f"c.yaml: {said}" in str(caught.value)


def test_yaml_that_is_none_and_keys_that_stand_twice_are_told_with_their_line(tmp_path):
    with pytest.raises(SettingsError, match=r"c\.yaml:2: expected YAML: the key 'a' stands twice"):
        read(tmp_path, "a: 1\na: 2\n")
    with pytest.raises(SettingsError, match=r"c\.yaml:2: expected YAML"):
        read(tmp_path, "a: [1\nb: 2\n")
    with pytest.raises(SettingsError, match=r"c\.yaml: expected keys and values, got None"):
        read(tmp_path, "")
    with pytest.raises(SettingsError, match="can't be read"):
        read_consortium(tmp_path / "none.yaml")


@given(name=st.text(max_size=70))
def test_a_name_is_refused_or_is_one_plain_path_component(tmp_path_factory, name):
    given_values = values()
    given_values["sites"][0]["site"] = name
    folder = tmp_path_factory.getbasetemp()
    try:
        read(folder, given_values)
    except SettingsError:
        return
    assert Path(name).name == name
    assert name.isascii() and not set(name) & set(" /\\'\"$%:;&|<>*?\n")
    assert name not in (".", "..") and name[0] not in ".-"
