"""What a live verdict costs beside encoding."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fglguard import scoring
from fglguard.bundle import Bundle
from fglguard.calibration import Calibration
from fglguard.detector import build_detector
from fglguard.encoder import Encoder, load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.flow.calls import FlowTracker
from fglguard.flow.features import AgentFlows
from fglguard.graph import PRESET_FEATURES, GraphSettings, beside_messages
from fglguard.guard import Guard
from fglguard.hashed_text import HashedTexts
from fglguard.live.judge import Judge
from fglguard.silo import open_silos
from fglguard.silo.index import text_id
from scripts.benchmarks.stopwatch import Stopwatch

SILOS = Path(".fglguard/silos/real_logs")
"""Silos of the four real corpora, embedded with ENCODER for preset `recommended`."""
ENCODER = "minilm"
MADE_UP_ENCODER = "hashed-words"
PRESETS = ("recommended", "small", "paper")
PERCENTILE = 95
MESSAGES = 1000
"""Of the made-up episode, about ten times the longest of a corpus."""
SENTENCES = 6
"""Of each of its results: about six spans."""
PASSES = 3
"""Over the episodes; the fastest of an episode counts, as the machine may be shared."""

Vectors = dict[bytes, NDArray[np.float32]]


class KnownVectors:
    """An encoder's vectors, looked up instead of computed.

    Args:
        encoder: Whose they are.
        known: The vectors [d] by the texts' ids.
    """

    def __init__(self, encoder: Encoder, known: Vectors) -> None:
        self.name = encoder.name
        self.dimension = encoder.dimension
        self.fingerprint = encoder.fingerprint
        self._known = known

    def encode(self, texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
        """The vectors of texts that are known, [n, d]."""
        return np.stack([self._known[text_id(text)] for text in texts])


def score() -> dict[str, float]:
    """CPU milliseconds an episode from `Guard.score`, whole and in parts, on one thread.

    Each episode of the silos is scored alone, as a live one is. Encoding is left out: vectors are
    handed in, and the time that takes is subtracted. So is a made-up episode of MESSAGES messages.
    """
    torch.set_num_threads(1)
    encoder = load_encoder(ENCODER)
    silos = open_silos(SILOS)
    known = {
        key: vector for silo in silos for key, vector in silo.encoded_texts(encoder.fingerprint)
    }
    episodes = [episode for silo in silos for episode in silo.episodes()]
    figures = {"score.episodes": float(len(episodes))}
    for preset in PRESETS:
        guard = _guard(KnownVectors(encoder, known), preset)
        for part, seconds in _fastest(guard, episodes).items():
            figures[f"score.{preset}.{part}.median_ms"] = 1e3 * float(np.median(seconds))
            figures[f"score.{preset}.{part}.p95_ms"] = 1e3 * float(
                np.percentile(seconds, PERCENTILE)
            )
    return figures | _of_a_long_episode()


def _of_a_long_episode() -> dict[str, float]:
    encoder = load_encoder(MADE_UP_ENCODER)
    episode = long_episode(MESSAGES)
    figures = {}
    for preset in PRESETS:
        settings = GraphSettings(**PRESET_FEATURES[preset])
        texts = [*episode.texts, *beside_messages(episode, settings)]
        known = dict(zip(map(text_id, texts), encoder.encode(texts), strict=True))
        guard = _guard(KnownVectors(encoder, known), preset)
        for part, seconds in _fastest(guard, [episode]).items():
            figures[f"score.{preset}.{MESSAGES}_messages.{part}_s"] = float(seconds[0])
    return figures


def long_episode(messages: int, seed: int = 0) -> Episode:
    """A user, two agents and a tool: calls that quote what the results before them said."""
    rng = np.random.default_rng(seed)
    said = [Message(0, "user", ("planner",), "Please sort the invoices of order 2041 by date.")]
    names: list[str] = ["invoice2041.pdf"]
    for number in range(1, messages):
        agent = ("planner", "worker")[number // 2 % 2]
        if number % 2:
            text = f'{{"tool": "read", "file": "{rng.choice(names[-50:])}", "page": {number}}}'
            said.append(Message(number, agent, ("tool",), text, "call"))
        else:
            lines = [_sentence(rng, names) for _ in range(SENTENCES)]
            said.append(Message(number, "tool", (agent, "planner"), " ".join(lines), "result"))
    agents = (
        Agent("user", "user"),
        Agent("planner", "agent"),
        Agent("worker", "agent"),
        Agent("tool", "tool"),
    )
    return Episode("long", "made-up", ("long",), agents, tuple(said), "planner")


def _sentence(rng: np.random.Generator, names: list[str]) -> str:
    names.append(f"record{rng.integers(1_000_000)}.csv")
    words = " ".join(f"w{word}" for word in rng.integers(5_000, size=14))
    return f"The entry {words} of {rng.integers(10_000, 99_999)} is kept in {names[-1]} since then."


def _guard(encoder: Encoder, preset: str) -> Guard:
    """A guard with fresh weights: what they are changes no time."""
    calibration = Calibration(0.5, 0.05, "max_recall", 1.0, 0.0, benign=1, unsafe=1)
    bundle = Bundle(
        detector=build_detector(preset, encoder.dimension, seed=0),
        encoder_name=encoder.name,
        encoder_fingerprint=encoder.fingerprint,
        graph=GraphSettings(**PRESET_FEATURES[preset]),
        calibration=calibration,
        model_id="fresh",
        calibration_id="fresh",
    )
    return Guard(bundle, encoder)


def _fastest(guard: Guard, episodes: Sequence[Episode]) -> dict[str, NDArray[np.float64]]:
    """What `_timed` says of each episode in the pass that it was fastest in."""
    passes = [_timed(guard, episodes) for _ in range(PASSES)]
    fastest = np.argmin([one["whole"] for one in passes], axis=0)
    each = np.arange(len(episodes))
    return {part: np.stack([one[part] for one in passes])[fastest, each] for part in passes[0]}


def _timed(guard: Guard, episodes: Iterable[Episode]) -> dict[str, NDArray[np.float64]]:
    """CPU seconds of each episode, [episodes], whole and in parts; `rest` is what is in none."""
    watch = Stopwatch(
        {
            "flow": [
                (scoring, "beside_messages"),
                (FlowTracker, "flow"),
                (FlowTracker, "take"),
                (AgentFlows, "add"),
                (AgentFlows, "rows"),
            ],
            "text": [(HashedTexts, "add"), (HashedTexts, "rows")],
            "pack": [(scoring, "pack"), (scoring, "collate")],
            "decide": [(scoring, "batch_scores"), (Judge, "scored")],
            "vectors": [(guard.scorer.encoder, "encode")],
        }
    )
    found: dict[str, list[float]] = {}
    with watch.running():
        for episode in episodes:
            began = time.process_time()
            (verdict,) = guard.score([episode])
            whole = time.process_time() - began
            if verdict.status != "success":
                raise RuntimeError(f"episode {episode.id}: {verdict.reason}")
            parts = watch.read()
            whole -= parts.pop("vectors")
            rest = whole - sum(parts.values())
            for part, seconds in {"whole": whole, **parts, "rest": rest}.items():
                found.setdefault(part, []).append(seconds)
    return {part: np.array(seconds) for part, seconds in found.items()}
