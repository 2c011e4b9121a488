import pytest

from scripts.generate_flower_config import composed


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
