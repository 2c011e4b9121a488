"""A silo of made-up episodes whose graphs have the size that the benchmarks want."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fglguard.encoder import load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.graph import GraphSettings
from fglguard.silo import Silo

ENCODER = "hashed-words"
LARGEST = 10
SMALLEST = 4
DENSITY = 0.27
TEXTS = 2000
HARMLESS = [
    "read",
    "list",
    "summarise",
    "compare",
    "sort",
    "plan",
    "check",
    "report",
    "answer",
    "look",
]
HARMFUL = [
    "wire",
    "leak",
    "erase",
    "unlock",
    "forward",
    "transfer",
    "bypass",
    "hide",
    "disable",
    "inject",
]
COMMON = [
    "the",
    "of",
    "to",
    "file",
    "account",
    "message",
    "channel",
    "number",
    "date",
    "task",
    "user",
    "result",
    "step",
]


def make_silo(path: Path, train: int, held_out: int, domains: int = 1) -> Silo:
    """A prepared silo; one that is there already is opened.

    A batch of 32 of its graphs has about 224 nodes and 560 edges (560 + 224 with self-loops):
    4 to 10 agents each, a ring and every other ordered pair with probability 0.27.

    Args:
        path: Where.
        train: Episodes to train on.
        held_out: Episodes to calibrate on, and as many to test on.
        domains: How many domains they are dealt to.
    """
    if not path.exists():
        splits = np.repeat([0, 1, 2], [train, held_out, held_out])
        Silo.create(path, _episodes(len(splits), domains), splits=splits)
    silo = Silo.open(path)
    silo.prepare(load_encoder(ENCODER), GraphSettings())
    return silo


def _episodes(count: int, domains: int) -> Iterator[Episode]:
    rng = np.random.default_rng(0)
    texts = [_texts(rng, HARMLESS), _texts(rng, HARMFUL)]
    names = [f"a{number}" for number in range(LARGEST)]
    for number in range(count):
        size = int(rng.integers(SMALLEST, LARGEST + 1))
        unsafe = bool(number // domains % 2)
        hears = rng.random((size, size)) < DENSITY
        hears[np.arange(size), (np.arange(size) + 1) % size] = True
        np.fill_diagonal(hears, False)
        said = rng.integers(0, TEXTS, size)
        yield Episode(
            id=str(number),
            domain=f"domain-{number % domains}",
            task=(f"task:{number}",),
            agents=tuple(Agent(name, "agent") for name in names[:size]),
            messages=tuple(
                Message(
                    0,
                    names[speaker],
                    tuple(names[hearer] for hearer in np.flatnonzero(hears[speaker])),
                    texts[unsafe][said[speaker]],
                )
                for speaker in range(size)
            ),
            final_agent=names[size - 1],
            unsafe=unsafe,
            label_source="planted",
        )


def _texts(rng: np.random.Generator, own: list[str]) -> list[str]:
    return [
        " ".join([*rng.choice(COMMON, 8), *rng.choice(own, 3)]) + f" {number}"
        for number in range(TEXTS)
    ]
