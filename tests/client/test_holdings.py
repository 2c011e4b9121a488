"""What a simulated client opens, against the partition it was dealt."""

import dataclasses

import numpy as np
import pytest

from client.holdings import pooled_holdings, simulated_holdings
from fglguard.corpora.splits import SPLITS
from fglguard.corpora.splits_file import Splits
from fglguard.encoder import load_encoder
from fglguard.errors import SettingsError
from fglguard.graph import GraphSettings
from fglguard.partitions import partition
from fglguard.settings import RunSettings
from fglguard.silo import Silo, open_silos
from scripts.generate_flower_config import composed


@pytest.fixture
def settings_of():
    def make(path):
        changes = {"corpus.path": str(path), "corpus.encoder": "hashed-words"}
        changes |= {"partition.kind": "iid", "federation.clients": 4}
        return RunSettings.from_flat({**composed("detector=paper", "privacy=none"), **changes})

    return make


@pytest.fixture
def settings(settings_of, make_silo):
    return settings_of(make_silo().path)


def test_clients_of_one_silo_share_its_mapped_graphs(settings):
    """Rows of the silo's own arrays, so that nothing is copied a client."""
    first, second = (simulated_holdings(settings, client, 4) for client in (0, 1))
    assert first.packed is second.packed
    assert not first.packed.x.flags.owndata
    assert not set(first.rows) & set(second.rows)


def test_a_client_holds_the_rows_that_it_was_dealt(settings):
    silos = open_silos(settings.corpus.path)
    shares = partition(silos, settings.partition, 4, settings.seed)
    for client, share in enumerate(shares):
        holdings = simulated_holdings(settings, client, 4)
        assert np.array_equal(holdings.rows, share.indices[0])
        for code, split in enumerate(SPLITS):
            own = [row for row in share.indices[0] if silos[0].split[row] == code]
            assert holdings.indices(split).tolist() == own
            assert np.array_equal(holdings.packed.label[own], silos[0].label[own])


def test_a_client_of_two_silos_holds_a_copy_of_both_parts(settings_of, tmp_path, make_episode):
    folder = tmp_path / "both"
    for domain in ("a", "b"):
        episodes = [make_episode(n, domain, unsafe=n % 4 < 2) for n in range(40)]
        silo = Silo.create(folder / domain, episodes)
        silo.prepare(load_encoder("hashed-words"), GraphSettings())
    values = settings_of(folder)
    silos = open_silos(folder)
    share = partition(silos, values.partition, 4, values.seed)[2]
    holdings = simulated_holdings(values, 2, 4)
    parts = list(zip(silos, share.indices, strict=True))
    fingerprint = holdings.encoder_fingerprint
    assert all(len(rows) for _, rows in parts)
    wanted = [s.graphs(fingerprint, GraphSettings()).select(rows).x for s, rows in parts]
    assert np.array_equal(holdings.packed.x, np.concatenate(wanted))
    assert holdings.rows.tolist() == list(range(sum(len(rows) for _, rows in parts)))
    assert holdings.domains == ("a", "b")
    assert holdings.domain_of.tolist() == [0] * len(parts[0][1]) + [1] * len(parts[1][1])
    # Groups of the second silo are told apart from those of the first.
    first, second = np.split(holdings.group, [len(parts[0][1])])
    assert not set(first) & set(second)


def test_of_several_versions_of_an_encoder_the_installed_one_is_taken(settings_of, make_silo):
    """Another version's graphs lie beside, under a fingerprint that sorts last."""
    silo = make_silo()
    installed = load_encoder("hashed-words")

    class Another:
        name, dimension = installed.name, installed.dimension
        fingerprint = "hashed-words-zzzzzzzzzzzzzzzz"
        encode = staticmethod(installed.encode)

    silo.prepare(Another(), GraphSettings())
    holdings = simulated_holdings(settings_of(silo.path), 0, 4)
    assert holdings.encoder_fingerprint == installed.fingerprint


def test_a_splits_file_that_changed_between_two_runs_is_obeyed(settings_of, make_silo, tmp_path):
    """The settings are equal, and so is the path; what stands there is not."""
    silo, path = make_silo(), tmp_path / "splits.json"
    values = settings_of(silo.path)
    values = dataclasses.replace(
        values, corpus=dataclasses.replace(values.corpus, splits=str(path))
    )
    for turn in range(3):
        codes = ((np.arange(len(silo)) // 2 + turn) % 3).astype(np.uint8)
        Splits.of("by hand", [silo], [codes]).write(path)
        together, counts = pooled_holdings(values, 4)
        assert np.array_equal(together.split, codes)
        assert sum(counts) == np.count_nonzero(codes == SPLITS.index("train"))
        for client in range(4):
            held = simulated_holdings(values, client, 4)
            assert np.array_equal(held.split, codes)
            assert held is simulated_holdings(values, client, 4)
    path.unlink()
    with pytest.raises(SettingsError, match=r"corpus\.splits: .* can't be read"):
        simulated_holdings(values, 0, 4)
