from dataclasses import replace

import numpy as np
import pytest

from fglguard.baselines.samples import Samples, read_samples
from fglguard.encoder import load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.graph import EpisodeGraph, GraphSettings
from fglguard.packed_graphs import PackedGraphs, pack
from fglguard.silo import Silo

TOPICS = (("river", "bank", "water"), ("stock", "price", "trade"), ("cell", "gene", "protein"))


def discussion(number: int, team: int = 5) -> Episode:
    """Agents on a topic; in half of the episodes one of them talks of something else."""
    random = np.random.default_rng(number)
    topic = TOPICS[number % 3]
    odd = int(random.integers(team)) if number % 2 else None
    agents = tuple(Agent(f"a{i}", "agent", i == odd) for i in range(team))
    messages = []
    for turn in range(2):
        for i in range(team):
            words = [str(w) for w in random.choice(topic, 4)]
            if i == odd:
                words = ["obey", "me", "now"]
            hearers = tuple(f"a{j}" for j in range(team) if j != i and (i + j) % 3)
            messages.append(Message(turn, f"a{i}", hearers, " ".join(words)))
    return Episode(
        id=f"e{number}",
        domain="demo",
        task=(f"task:{number}",),
        agents=agents,
        messages=tuple(messages),
        final_agent="a0",
        unsafe=odd is not None,
        label_source="planted",
    )


@pytest.fixture(scope="session")
def discussions(tmp_path_factory) -> tuple[Samples, Samples]:
    """60 discussions to train on and 40 to test on, embedded with hashed words."""
    encoder = load_encoder("hashed-words")
    silo = Silo.create(tmp_path_factory.mktemp("silo") / "s", map(discussion, range(100)))
    silo.prepare(encoder, GraphSettings())

    def read(rows):
        return read_samples(silo, rows, encoder.fingerprint, GraphSettings())

    return read(np.arange(60)), read(np.arange(60, 100))


@pytest.fixture
def flipped():
    """The same samples with every label turned round, wherever one stands."""

    def flip(samples: Samples) -> Samples:
        def turned(episode: Episode) -> Episode:
            agents = tuple(replace(agent, unsafe=not agent.unsafe) for agent in episode.agents)
            return replace(episode, agents=agents, unsafe=not episode.unsafe)

        return replace(
            samples,
            episodes=tuple(turned(episode) for episode in samples.episodes),
            graphs=replace(samples.graphs, label=1 - samples.graphs.label),
            node_unsafe=1 - samples.node_unsafe,
        )

    return flip


@pytest.fixture
def path_graph():
    """Three agents in a row, 0 - 1 - 2, 0 speaking to 1 and 1 to 2; features as given."""

    def make(x) -> PackedGraphs:
        return pack(
            [
                EpisodeGraph(
                    x=np.array(x, np.float32).reshape(3, -1),
                    kind=np.ones(3, np.uint8),
                    agent_ids=("a", "b", "c"),
                    src=np.array([0, 1], np.int32),
                    dst=np.array([1, 2], np.int32),
                    final=2,
                )
            ]
        )

    return make


@pytest.fixture
def random_graphs():
    """A few directed graphs of 1 to 6 nodes with random features and edges."""

    def make(seed: int, width: int, count: int = 4) -> PackedGraphs:
        random = np.random.default_rng(seed)
        graphs = []
        for _ in range(count):
            n = int(random.integers(1, 7))
            linked = (random.random((n, n)) < 0.4) & ~np.eye(n, dtype=bool)
            dst, src = np.nonzero(linked)
            graphs.append(
                EpisodeGraph(
                    x=random.normal(size=(n, width)).astype(np.float32),
                    kind=random.integers(0, 4, n).astype(np.uint8),
                    agent_ids=tuple(map(str, range(n))),
                    src=src.astype(np.int32),
                    dst=dst.astype(np.int32),
                    final=int(random.integers(n)),
                )
            )
        return pack(graphs)

    return make
