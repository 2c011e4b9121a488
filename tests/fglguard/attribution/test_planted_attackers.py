"""What drives a score names the planted attacker, on real teams one of whose agents was one.

Chance is the attackers' share of those that the final agent hears. One in a thousand draws of an
explanation by chance would reach the bound (binomial, scipy).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom

from fglguard.attribution.drivers import edge_drivers
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.episode import Episode
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.silo import Silo
from fglguard.training import TrainingSettings, train_locally

pytestmark = pytest.mark.long
torch.set_num_threads(1)
EACH = 80
"""Test episodes that are explained."""
TRAINING = {
    "paper": TrainingSettings(20, learning_rate=1e-3, labels="final", class_weight="balanced"),
    "small": TrainingSettings(
        20, learning_rate=2.0, optimizer="sgd", labels="final", class_weight="balanced"
    ),
}


def one_for_each_agent(episodes: list[Episode]) -> Iterator[Episode]:
    """Every agent's own label, as teams with labelled agents are trained on."""
    for episode in episodes:
        for agent in episode.agents:
            name = f"{episode.id}/{agent.id}"
            yield replace(episode, id=name, final_agent=agent.id, unsafe=bool(agent.unsafe))


@pytest.mark.parametrize(
    ("name", "preset"), [("debate", "paper"), ("debate", "small"), ("gsafeguard", "paper")]
)
def test_the_edge_that_drove_a_score_most_comes_from_the_attacker(
    real, tmp_path, name, preset
) -> None:
    encoder = load_encoder("hashed-words")
    settings = GraphSettings(3 if preset == "paper" else 0, **PRESET_FEATURES[preset])
    found = real(name, [])
    silo = Silo.create(
        tmp_path / "silo", one_for_each_agent(found) if name == "gsafeguard" else found, seed=0
    )
    silo.prepare(encoder, settings)
    episodes, packed = list(silo.episodes()), silo.graphs(encoder.fingerprint, settings)
    tasks = sorted({episode.task for episode in episodes})
    np.random.default_rng(0).shuffle(tasks)
    known = set(map(tuple, tasks[: len(tasks) // 2]))
    rows = {
        side: [i for i, e in enumerate(episodes) if (e.task in known) == side] for side in (1, 0)
    }
    detector = build_detector(preset, encoder.dimension, 0)
    train_locally(detector, packed, np.array(rows[1]), TRAINING[preset], (0,))

    hits, chances = 0, []
    for row in rows[0]:
        episode = episodes[row]
        attackers = {agent.id for agent in episode.agents if agent.unsafe}
        names = tuple(agent.id for agent in episode.agents)
        part = slice(packed.edge_offsets[row], packed.edge_offsets[row + 1])
        src, dst = packed.src[part], packed.dst[part]
        heard = {names[i] for i in src[dst == packed.final[row]]}
        # There must be one to name, and somebody else to name instead.
        if episode.final_agent in attackers or not heard & attackers or heard <= attackers:
            continue
        places, changes = edge_drivers(
            detector, packed, row, names, episode, settings, silo.lookup(encoder.fingerprint)
        )
        into = np.flatnonzero(dst[places] == packed.final[row])
        strongest = places[into[np.argmax(changes[into])]]
        hits += names[src[strongest]] in attackers
        chances.append(len(heard & attackers) / len(heard))
        if len(chances) == EACH:
            break
    assert len(chances) >= 40
    assert hits > binom.isf(1e-3, len(chances), np.mean(chances))
