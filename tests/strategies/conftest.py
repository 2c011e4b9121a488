"""Three unlike clients under the real grid, ClientApp and strategy, and a plain reference."""

import numpy as np
import pytest
import torch
from flwr.app import ConfigRecord
from torch import nn

import client.app as client_module
from client.holdings import simulated_holdings
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.packed_graphs import collate
from fglguard.parameters import flatten
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from scripts.generate_flower_config import composed
from server.gathering import gather
from server.inprocess import InProcessGrid
from server.roster import roster_of
from strategies.registry import build_strategy
from strategies.updates import pack_parameters, unpack_parameters

torch.set_num_threads(1)
CLIENTS = 3


class Recorder:
    """An observer that remembers each client's update."""

    def __init__(self):
        self.updates, self.failures = [], []

    def trained(self, server_round, update, weight):
        self.updates.append((server_round, update, weight))

    def failed(self, phase, server_round, failure):
        self.failures.append(failure)

    def surplus(self, server_round, update):
        raise AssertionError("no client was asked in vain")


class Federation:
    """The strategy that a configuration names, driven round by round."""

    def __init__(self, config, folder):
        settings = RunSettings.from_flat(config)
        self.settings, self.folder = settings, folder
        nodes = [{"partition-id": k, "num-partitions": CLIENTS} for k in range(CLIENTS)]
        self.grid = InProcessGrid(client_module.app, nodes, config)
        encoder = load_encoder(settings.corpus.encoder)
        roster = roster_of(settings, encoder.fingerprint)
        cohort = gather(self.grid, roster, settings, encoder.fingerprint).cohort
        self.observer = Recorder()
        self.strategy = build_strategy(cohort, settings, self.observer)
        self.start = flatten(build_detector("paper", encoder.dimension, seed=settings.seed))
        self.model = self.start

    def round(self, server_round, absent=()):
        """One round without the clients of these indices; returns the next global model."""
        config = ConfigRecord({"seed": self.settings.seed, "run_folder": str(self.folder)})
        messages = self.strategy.configure_train(
            server_round, pack_parameters(self.model), config, self.grid
        )
        asked = [m for m in messages if m.content["config"]["index"] not in absent]
        arrays, _ = self.strategy.aggregate_train(server_round, self.grid.send_and_receive(asked))
        self.model = unpack_parameters(arrays)
        return self.model


class Reference:
    """A client's data as one batch, and gradients of a loss written by the test."""

    def __init__(self, federation):
        self.detector = build_detector("paper", 384, seed=0)
        self.batches, self.packed = [], []
        for k in range(CLIENTS):
            holdings = simulated_holdings(federation.settings, k, CLIENTS)
            packed = holdings.packed.select(holdings.indices("train"))
            self.packed.append(packed)
            self.batches.append(collate(packed))

    def nodes(self):
        return np.array([len(batch.x) for batch in self.batches])

    def load(self, theta):
        nn.utils.vector_to_parameters(
            torch.tensor(theta, dtype=torch.float32), self.detector.parameters()
        )

    def hidden(self, theta, k):
        """Hidden representations of client k's nodes under theta, without gradients."""
        self.load(theta)
        with torch.no_grad():
            return self.detector.hidden(self.batches[k])

    def gradient(self, theta, k, term=None):
        """Of client k's BCE, plus `term` of the hidden representations, at theta."""
        self.load(theta)
        batch = self.batches[k]
        hidden = self.detector.hidden(batch)
        loss = nn.functional.binary_cross_entropy_with_logits(
            self.detector.head(hidden), batch.label[batch.graph]
        )
        if term is not None:
            loss = loss + term(hidden)
        parts = torch.autograd.grad(loss, list(self.detector.parameters()))
        return torch.cat([part.reshape(-1) for part in parts]).double().numpy()


@pytest.fixture
def federation(tmp_path, make_episode):
    """A federation of three domains with 40, 24 and 16 episodes, one client each.

    Plain SGD on whole silos at once, so that a reference needs no shuffles: changes with `__` for
    the dot of a key.
    """
    sizes = {"a": 40, "b": 24, "c": 16}
    episodes = [
        make_episode(number, domain, unsafe=number % 4 < 2)
        for domain, count in sizes.items()
        for number in range(count)
    ]
    silo = Silo.create(tmp_path / "silo", episodes)
    silo.prepare(load_encoder("hashed-words"), GraphSettings())

    def make(name, folder="run", **changes):
        config = composed("detector=paper", "privacy=none") | {
            "corpus.name": "silos",
            "corpus.path": str(silo.path),
            "corpus.encoder": "hashed-words",
            "federation.clients": CLIENTS,
            "federation.connect_timeout": 0.1,
            "strategy.name": name,
            "strategy.mu": 0.0,
            "strategy.optimizer": "sgd",
            "strategy.learning_rate": 0.5,
            "strategy.weight_decay": 0.0,
            "strategy.batch_size": 1000,
            "strategy.epochs": 3,
            **{key.replace("__", "."): value for key, value in changes.items()},
        }
        return Federation(config, tmp_path / folder)

    return make


@pytest.fixture
def reference():
    return Reference
