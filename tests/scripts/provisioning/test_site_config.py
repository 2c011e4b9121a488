"""`site.toml` read back by Python's tomllib and by Flower's reader of node configs."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fglguard.errors import FederationError
from scripts.provisioning.site_config import read_site_config, toml_string


@given(text=st.text(st.characters(exclude_categories=("Cs",))))
def test_every_text_is_a_toml_string(text):
    assert tomllib.loads(f"x = {toml_string(text)}") == {"x": text}


def test_flower_reads_it_as_the_node_config(kits, tmp_path):
    from flwr.common.config import parse_config_args

    kits.values["sites"][0].update(domain="b a'n\"k", data='si\'lo "x" \\ =1')
    kits.make()
    config = parse_config_args([str(kits / "north" / "site.toml")])
    assert config == {
        "site": "north",
        "domain": "b a'n\"k",
        "data-path": str(tmp_path / 'si\'lo "x" \\ =1'),
        "encoder": "hashed-words",
        "require-privacy": "none",
        "sent-log": str(tmp_path / "state" / "north" / "sent.jsonl"),
        "guards-path": str(tmp_path / "state" / "north" / "guards"),
        "host-key": (kits / "host" / "host.pub").read_text().strip(),
        "host": "127.0.0.1:18443",
    }
    assert read_site_config(kits / "north").domain == "b a'n\"k"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('site = "north"', "", "site: expected a text"),
        ('"none"', '"much"', "require-privacy: expected one of none, aegis"),
        ('site = "north"', "site = ", "expected TOML"),
    ],
)
def test_what_is_wrong_in_it_is_told(kits, old, new, said):
    kits.make()
    path = kits / "north" / "site.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(FederationError, match=said):
        read_site_config(kits / "north")
