import json

import pytest

from client.app import app
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from scripts.consortium import Consortium
from scripts.generate_flower_config import composed
from server.inprocess import InProcessGrid
from server.run import run


@pytest.fixture
def run_config(tmp_path, make_silo):
    """The default configuration on a small silo of two domains, four clients, three rounds."""

    def make(**changes):
        silo = make_silo()
        return composed("detector=paper", "privacy=none") | {
            "corpus.name": "silos",
            "corpus.path": str(silo.path),
            "corpus.encoder": "hashed-words",
            "federation.clients": 4,
            "federation.minimum_clients": 4,
            "federation.rounds": 3,
            "federation.connect_timeout": 0.1,
            "output": str(tmp_path / "run"),
            **{key.replace("__", "."): value for key, value in changes.items()},
        }

    return make


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


@pytest.fixture
def federation(tmp_path, sites):
    """Runs one round over nodes 2, 3, ... with these node configs; returns the run folder."""

    def go(configs, nodes=(2, 3, 4), client_app=app, **changes):
        entries = [
            {"site": site.name, "domain": site.domain, "node": node}
            for site, node in zip(sites, nodes, strict=True)
        ]
        roster = tmp_path / "roster.json"
        roster.write_text(json.dumps({"sites": entries}))
        config = {
            **composed("detector=paper", "privacy=none"),
            "corpus.encoder": "hashed-words",
            "federation.roster": str(roster),
            "federation.clients": 3,
            "federation.minimum_clients": 2,
            "federation.rounds": 1,
            "federation.connect_timeout": 0.1,
            "output": str(tmp_path / "run"),
            **{key.replace("__", "."): value for key, value in changes.items()},
        }
        run(InProcessGrid(client_app, configs, config), RunSettings.from_flat(config))
        return tmp_path / "run"

    return go
