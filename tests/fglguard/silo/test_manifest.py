import json

import pytest

from fglguard.errors import SiloError
from fglguard.silo import Silo
from fglguard.silo.manifest import read_manifest, write_manifest


def test_what_is_written_is_read_back(make_silo):
    silo = make_silo()
    manifest = read_manifest(silo.path)
    assert len(manifest.embeddings) == len(manifest.graphs) == 1
    write_manifest(silo.path, manifest)
    assert read_manifest(silo.path) == manifest


def test_a_file_of_another_size_is_found_on_opening(make_silo):
    silo = make_silo()
    path = silo.path / read_manifest(silo.path).data / "label.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SiloError, match=r"label\.npy: expected \d+ bytes, got \d+"):
        Silo.open(silo.path)
    path.unlink()
    with pytest.raises(SiloError, match=r"label\.npy: the file is missing"):
        Silo.open(silo.path)


@pytest.mark.parametrize(
    "change",
    [
        {"counts": {"episodes": 80}},
        {"files": []},
        {"domains": "a"},
        {"embeddings": {"x": {}}},
        {"data": "../elsewhere"},
        {"name": None},
    ],
)
def test_a_damaged_manifest_is_said_to_be_damaged(make_silo, change):
    silo = make_silo(count=4)
    path = silo.path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(SiloError, match=r"manifest\.json: damaged"):
        Silo.open(silo.path)


def test_an_array_that_does_not_fit_the_counts_is_found_on_opening(make_silo):
    silo = make_silo(count=4)
    path = silo.path / "manifest.json"
    record = json.loads(path.read_text())
    record["counts"]["episodes"] += 1
    path.write_text(json.dumps(record))
    with pytest.raises(SiloError, match=r"label\.npy: expected int8 of shape \(9,\).*\(8,\)"):
        Silo.open(silo.path)
