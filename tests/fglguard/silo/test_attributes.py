import json
from dataclasses import replace

import pytest

from fglguard.errors import SiloError
from fglguard.silo import Silo
from fglguard.silo.attributes import ATTRIBUTES

GIVEN = [{"model": "m1"}, {}, {"model": "m2", "suite": ""}, {"model": "m1", "suite": "s"}]


@pytest.fixture
def silo(tmp_path, make_episode):
    episodes = [
        replace(make_episode(number, "a", False), attributes=attributes)
        for number, attributes in enumerate(GIVEN)
    ]
    return Silo.create(tmp_path / "silo", episodes, splits=[0] * len(GIVEN))


def as_mappings(silo):
    return [
        {
            key: column.values[column.codes[index]]
            for key, column in silo.attributes.items()
            if column.codes[index] >= 0
        }
        for index in range(len(silo))
    ]


def test_what_goes_in_comes_out(silo):
    assert as_mappings(silo) == GIVEN
    assert silo.attributes["model"].values == ("m1", "m2")


def test_a_silo_without_the_file_reads_its_episodes(silo):
    """Silos of the first release have no such file."""
    manifest = silo.path / "manifest.json"
    record = json.loads(manifest.read_text(encoding="utf-8"))
    (name,) = [name for name in record["files"] if name.endswith(ATTRIBUTES)]
    del record["files"][name]
    (silo.path / name).unlink()
    manifest.write_text(json.dumps(record), encoding="utf-8")
    assert as_mappings(Silo.open(silo.path)) == GIVEN


@pytest.mark.parametrize("content", ["[]", "{", '{"model": {"values": ["m1"], "codes": [1]}}'])
def test_a_damaged_file_is_named_but_opening_does_not_read_it(silo, content):
    (file,) = silo.path.rglob(ATTRIBUTES)
    file.write_text(content.ljust(file.stat().st_size), encoding="utf-8")
    opened = Silo.open(silo.path)
    with pytest.raises(SiloError, match=r"attributes\.json: damaged"):
        _ = opened.attributes
