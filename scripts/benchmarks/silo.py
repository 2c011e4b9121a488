"""How long opening a silo takes."""

import statistics
import time

from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.benchmarks.simulation import SILOS
from scripts.benchmarks.synthetic_silo import ENCODER, make_silo

EPISODES = 10_000
TIMES = 51


def silo() -> dict[str, float]:
    """Median milliseconds to open a silo of 10 000 episodes and map its graphs."""
    path = SILOS / "open"
    make_silo(path, train=EPISODES * 8 // 10, held_out=EPISODES // 10)
    fingerprint = load_encoder(ENCODER).fingerprint
    milliseconds = []
    for _ in range(TIMES):
        began = time.perf_counter()
        opened = Silo.open(path)
        graphs = opened.graphs(fingerprint, GraphSettings())
        milliseconds.append(1e3 * (time.perf_counter() - began))
    return {
        "silo.open_ms": statistics.median(milliseconds),
        "silo.episodes": float(len(opened)),
        "silo.nodes": float(len(graphs.x)),
    }
