"""Three sites with a domain each, and what a run's folder says of them."""

import pytest

from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from scripts.consortium import Consortium
from scripts.generate_flower_config import composed


@pytest.fixture(scope="module")
def consortium(tmp_path_factory, make_episode):
    folder = tmp_path_factory.mktemp("consortium")
    episodes = [make_episode(n, d, unsafe=n % 4 < 2) for d in ("a", "b", "c") for n in range(40)]
    source = Silo.create(folder / "source", episodes)
    encoder, graph = load_encoder("hashed-words"), GraphSettings()
    source.prepare(encoder, graph)
    return Consortium(source, folder, encoder, graph)


@pytest.fixture(scope="module")
def sites(consortium):
    settings = RunSettings.from_flat(composed())
    return consortium.deal(["a", "b", "c"], 1, settings.partition, seed=0)
