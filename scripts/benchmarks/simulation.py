"""Speed and memory of a simulated federation, against a plain PyTorch Geometric loop."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch_geometric.data import Data

from client.holdings import simulated_holdings
from fglguard.settings import RunSettings
from scripts.benchmarks.plain_loop import (
    PlainModel,
    initial_weights,
    plain_graphs,
    plain_round,
)
from scripts.benchmarks.process_tree import cpu_seconds, peak_memory
from scripts.benchmarks.stepwise_run import StepwiseRun
from scripts.benchmarks.synthetic_silo import ENCODER, make_silo
from scripts.generate_flower_config import composed

ROOT = Path(__file__).resolve().parent.parent.parent
SILOS = ROOT / ".fglguard" / "bench"
BATCH = 32
HELD_OUT = 4
START_LIMIT_SECONDS = 300
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Case:
    """A federation: clients, graphs each, local epochs, clients a round, warm rounds measured.

    With `silo_of`, its clients share out another case's silo.
    """

    name: str
    clients: int
    graphs: int
    epochs: int
    sampled: int
    rounds: int
    silo_of: "Case | None" = None

    def silo(self) -> Path:
        """Its silo, made where it is not there yet."""
        if self.silo_of:
            return self.silo_of.silo()
        path = SILOS / f"{self.clients}x{self.graphs}"
        make_silo(path, self.clients * self.graphs, self.clients * HELD_OUT)
        return path

    def changes(self) -> dict[str, str | int | float]:
        """What differs from the default configuration."""
        return {
            "corpus.name": "silos",
            "corpus.path": str(self.silo()),
            "corpus.encoder": ENCODER,
            "partition.kind": "iid",
            "federation.clients": self.clients,
            "federation.fraction": self.sampled / self.clients,
            "strategy.epochs": self.epochs,
            "strategy.batch_size": BATCH,
            "strategy.optimizer": "sgd",
            "strategy.learning_rate": 0.05,
            "strategy.weight_decay": 0.0,
        }


K8 = Case("k8", clients=8, graphs=320, epochs=4, sampled=8, rounds=3)
K100 = Case("k100", clients=100, graphs=128, epochs=2, sampled=100, rounds=1)
K1000 = Case("k1000", clients=1000, graphs=64, epochs=1, sampled=100, rounds=3)


@dataclass
class Cost:
    """CPU and wall seconds of some rounds."""

    cpu: float = 0.0
    wall: float = 0.0

    @contextmanager
    def added(self) -> Iterator[None]:
        """Add what the body costs this process and its children."""
        cpu, wall = cpu_seconds(), time.perf_counter()
        yield
        self.cpu += cpu_seconds() - cpu
        self.wall += time.perf_counter() - wall


def simulation() -> dict[str, float]:
    """All figures; see `docs/performance.md` for what they mean."""
    torch.set_num_threads(1)
    figures: dict[str, float] = {}
    differences = []
    for case in (K8, K100, K1000):
        figures |= ratios(case)
        differences.append(figures.pop("difference"))
    figures["max_weight_diff"] = max(differences)
    for backend in ("ray", "inprocess", "processes"):
        start, peak = start_up(K8, backend)
        figures[f"{backend}.start_s"] = start.wall
        figures[f"{backend}.start_cpu_s"] = start.cpu
        if backend == "processes":
            figures["k8.peak_mb"] = peak
    figures["k1000.peak_mb"] = start_up(K1000, "processes")[1]
    return figures


def ratios(case: Case) -> dict[str, float]:
    """Warm rounds of a case, ours and the plain loop's in turn."""
    settings = RunSettings.from_flat(
        {**composed("detector=paper", "privacy=none"), **case.changes(), "output": "."}
    )
    ours, plain = Cost(), Cost()
    with StepwiseRun(settings) as run:
        model = PlainModel(run.detector.dimension)
        weights = initial_weights(run.detector)
        for number in range(1, case.rounds + 2):
            warm = number > 1
            with (ours if warm else Cost()).added():
                run.round(number)
            clients = _plain_clients(settings, number, run.trained_clients)
            with (plain if warm else Cost()).added():
                weights = plain_round(model, weights, clients, settings.strategy)
        difference = max(
            float((weights[name] - tensor).abs().max())
            for name, tensor in initial_weights(run.detector).items()
        )
    return {
        f"{case.name}.cpu_ratio": ours.cpu / plain.cpu,
        f"{case.name}.wall_ratio": ours.wall / plain.wall,
        f"{case.name}.round_cpu_s": ours.cpu / case.rounds,
        f"{case.name}.round_wall_s": ours.wall / case.rounds,
        f"{case.name}.plain_round_cpu_s": plain.cpu / case.rounds,
        f"{case.name}.plain_round_wall_s": plain.wall / case.rounds,
        "difference": difference,
    }


def _plain_clients(
    settings: RunSettings, number: int, indices: Sequence[int]
) -> list[tuple[list[Data], tuple[int, int, int]]]:
    """What the plain loop trains on, in memory before its time is taken."""
    return [(_client_graphs(settings, i), (settings.seed, number, i)) for i in indices]


@lru_cache(maxsize=100)
def _client_graphs(settings: RunSettings, index: int) -> list[Data]:
    holdings = simulated_holdings(settings, index, settings.federation.clients)
    return plain_graphs(holdings.packed, holdings.indices("train"))


def start_up(case: Case, backend: str) -> tuple[Cost, float]:
    """A whole run of two rounds: what it cost until the first was done, and peak memory in MB."""
    changes = [f"{key}={value}" for key, value in case.changes().items()]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "scripts" / "simulate.py"),
                "corpus=silos",
                "partition=iid",
                *changes,
                f"federation.backend={backend}",
                "federation.rounds=2",
                f"output={folder}/run",
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            with peak_memory(process.pid) as peak:
                start = _first_round(process, Path(folder) / "run" / "metrics.jsonl", began)
                code = process.wait(START_LIMIT_SECONDS)
        finally:
            process.kill()
    if code:
        raise SystemExit(f"the run on {backend} failed with exit code {code}")
    return start, peak.mb


def _first_round(process: "subprocess.Popen[bytes]", metrics: Path, began: float) -> Cost:
    while process.poll() is None and time.perf_counter() - began < START_LIMIT_SECONDS:
        if metrics.exists() and '"kind": "round"' in metrics.read_text(encoding="utf-8"):
            return Cost(cpu_seconds(process.pid), time.perf_counter() - began)
        time.sleep(POLL_SECONDS)
    raise SystemExit(f"no round was done after {time.perf_counter() - began:.0f} s")
