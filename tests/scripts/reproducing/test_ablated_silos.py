"""Silos that hold changed graphs, the rest of them, and the record that says so."""

import json

import numpy as np
import pytest

from fglguard.encoder import load_encoder
from fglguard.silo import Silo, open_silos
from scripts.reproducing.ablated_graphs import ABLATIONS
from scripts.reproducing.ablated_silos import SETTINGS, ablated_silos
from scripts.reproducing.packed import pack_by_this_code

ENCODER = load_encoder("hashed-words")


@pytest.fixture
def made(make_silo, tmp_path):
    """Makes silos with something left out; also the silo they are made of."""
    silo = make_silo(count=8)
    silo.prepare(ENCODER, SETTINGS)
    record = tmp_path / "packed.json"

    def make(name):
        return ablated_silos(
            silo.path, name, ABLATIONS[name], "hashed-words", tmp_path / "ablated", record
        )

    make.silo, make.record = silo, record
    return make


def graphs(silo: Silo):
    return silo.graphs(ENCODER.fingerprint, SETTINGS)


def test_only_the_graphs_are_others(made) -> None:
    before = graphs(made.silo)
    with made("no flow features") as path:
        (silo,) = open_silos(path)
        silo.verify()
        assert silo.ids == made.silo.ids
        assert np.array_equal(silo.label, made.silo.label)
        found = graphs(silo)
        assert not found.flow.any()
        assert np.array_equal(found.text_values, before.text_values)
        # The record says that they are as they are to be: they are not packed anew.
        pack_by_this_code(path, "hashed-words", SETTINGS, made.record)
        assert not graphs(Silo.open(silo.path)).flow.any()
        assert len(json.loads(made.record.read_bytes())) == 1
    assert not path.exists()
    made.silo.verify()
    assert np.array_equal(graphs(made.silo).flow, before.flow)


def test_a_name_follows_from_what_the_graphs_hold(made) -> None:
    names = []
    for name in ("no words", "no words", "no letters"):
        with made(name) as path:
            names.append(path.name)
    assert names[0] == names[1]
    assert names[0].startswith("no-words-")
    assert names[2].startswith("no-letters-")
    assert names[0].removeprefix("no-words-") != names[2].removeprefix("no-letters-")


def test_it_is_removed_after_an_error(made) -> None:
    with pytest.raises(KeyboardInterrupt), made("no words") as path:
        raise KeyboardInterrupt
    assert not path.exists()
