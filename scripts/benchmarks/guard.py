"""What the guard costs at run time: a score, a check, a replay of stored episodes, memory."""

import itertools
import time
from collections.abc import Callable, Iterator

import numpy as np
import psutil
import torch
from numpy.typing import NDArray

from fglguard.bundle import Bundle
from fglguard.calibration import Calibration
from fglguard.detector import build_detector
from fglguard.encoder import Encoder, load_encoder
from fglguard.episode_rules import AgentKind
from fglguard.events import Event
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.guard import Guard
from fglguard.live.limits import Limits
from fglguard.live.policy import Policy
from fglguard.packed_graphs import pack
from fglguard.progress import progress_bar
from fglguard.training import score_graphs
from scripts.benchmarks.score import long_episode
from scripts.benchmarks.sidecar import sidecar

PRESETS = ("recommended", "small", "paper")
HEADLINE = "recommended"
SCORES, CHECKS = 2_000, 200
WARMING = 20
"""One call in so many more is made before those that count."""
STORED, KINDS_OF_STORED = 10_000, 40
WORDS = 75
"""Of a new message: about 100 tokens."""
MESSAGES, EPISODE = 100_000, 20
KINDS: dict[str, AgentKind] = {
    "user": "user",
    "planner": "agent",
    "reader": "agent",
    "critic": "agent",
    "banker": "agent",
    "web": "tool",
    "bank": "tool",
}
SAID = (
    ("user", ("planner",), "say", "Read the bill at shop.example and pay it"),
    ("planner", ("reader",), "say", "Please read the bill at shop.example"),
    ("reader", ("web",), "call", 'open {"url": "shop.example"}'),
    (
        "web",
        ("reader",),
        "result",
        "Total 75.00, due on 2026-03-01. Account GB29160016319268. " * 8,
    ),
    ("reader", ("planner", "critic"), "say", "The bill: pay 75.00 to GB29160016319268"),
    ("critic", ("planner",), "say", "The account is that of the last bill"),
    ("planner", ("banker",), "say", "Please pay 75.00 to GB29160016319268"),
    ("banker", ("bank",), "call", 'send {"to": "GB29160016319268", "amount": "75.00"}'),
    ("bank", ("banker",), "result", "sent, receipt R-5512"),
    ("banker", ("planner",), "say", "Done, receipt R-5512"),
)


def guard() -> dict[str, float]:
    """Figures of one thread; keys without a preset are those of `recommended`.

    - `score_ms`: the verdict on an agent of an episode of four agents and ten messages whose texts
      are embedded (wall time, as a caller waits for it).
    - `check_ms`: a check of a new answer of about 100 tokens in that episode, encoder included.
    - `replay.per_s`: stored episodes, packed as a silo keeps them, a second.
    - `sidecar.*`: see `scripts/benchmarks/sidecar.py`.
    - `memory.growth_mb`: what 100 000 messages in episodes of 20 add to the process once as many
      episodes and texts are held as may be (100 episodes, 1000 texts).
    """
    torch.set_num_threads(1)
    encoder = load_encoder("minilm")
    figures: dict[str, float] = {}
    for preset in PRESETS:
        one = guard_of(encoder, preset)
        feed(one, "bench")
        for name, seconds in {
            "score_ms": _times(lambda one=one: one.review("bench", "planner"), SCORES),
            "check_ms": _times(_checks(one), CHECKS),
        }.items():
            keys = [f"{preset}.{name}", *([name] if preset == HEADLINE else [])]
            for key in keys:
                figures[f"{key}.median"] = 1e3 * float(np.median(seconds))
                figures[f"{key}.p99"] = 1e3 * float(np.percentile(seconds, 99))
        figures[f"{preset}.replay.per_s"] = _replayed(one)
    figures["replay.per_s"] = figures[f"{HEADLINE}.replay.per_s"]
    events = [
        {"sender": sender, "receivers": receivers, "kind": kind, "text": text, "agents": KINDS}
        for sender, receivers, kind, text in SAID
    ]
    figures |= sidecar(guard_of(encoder, HEADLINE).bundle, encoder, events)
    return figures | {"memory.growth_mb": _growth()}


def guard_of(encoder: Encoder, preset: str, limits: Limits | None = None) -> Guard:
    """A guard with fresh weights, which change no time; it lets everything out."""
    bundle = Bundle(
        detector=build_detector(preset, encoder.dimension, seed=0),
        encoder_name=encoder.name,
        encoder_fingerprint=encoder.fingerprint,
        graph=GraphSettings(3 if preset == "paper" else 0, **PRESET_FEATURES[preset]),
        calibration=Calibration(2.0, 0.05, "max_recall", 1.0, 0.0, benign=1, unsafe=1),
        model_id="fresh",
        calibration_id="fresh",
    )
    return Guard(bundle, encoder, policy=Policy(calls=True), limits=limits)


def feed(one: Guard, episode: str) -> None:
    """Let a team of four agents pay a bill."""
    for sender, receivers, kind, text in SAID:
        one.observe(Event(episode, sender, text, receivers, kind, KINDS))  # type: ignore[arg-type]


def _checks(one: Guard) -> Callable[[], None]:
    """Each call checks a text that was never seen, in an episode of its own, fed beforehand."""
    numbers, rng = itertools.count(), np.random.default_rng(0)
    for number in range(CHECKS + CHECKS // WARMING):
        feed(one, f"check-{number}")

    def check() -> None:
        text = " ".join(f"word{word}" for word in rng.integers(1_000, size=WORDS // 3))
        verdict = one.check(Event(f"check-{next(numbers)}", "planner", text, ("user",)))
        if verdict.status != "success":
            raise RuntimeError(verdict.reason)

    return check


def _times(work: Callable[[], object], repeats: int) -> NDArray[np.float64]:
    """Seconds of each call, after a few that warm up."""
    for _ in range(repeats // WARMING):
        work()
    seconds = np.empty(repeats)
    for number in range(repeats):
        began = time.perf_counter()
        work()
        seconds[number] = time.perf_counter() - began
    return seconds


def _replayed(one: Guard) -> float:
    graphs = one.scorer.graphs([long_episode(10, seed) for seed in range(KINDS_OF_STORED)])
    packed = pack(graphs * (STORED // KINDS_OF_STORED))
    began = time.perf_counter()
    score_graphs(one.bundle.detector, packed)
    return STORED / (time.perf_counter() - began)


def _growth() -> float:
    """MB that the process grows by, from the tenth part of the messages to the last."""
    limits = Limits(episodes=100, cached_texts=1_000)
    one = guard_of(load_encoder("hashed-words"), HEADLINE, limits)
    before = 0.0
    with progress_bar("messages", MESSAGES, shown=True) as advance:
        for number, event in enumerate(_events(MESSAGES)):
            one.observe(event)
            advance(1)
            if number == MESSAGES // 10:
                before = psutil.Process().memory_info().rss / 1e6
    return psutil.Process().memory_info().rss / 1e6 - before


def _events(count: int) -> Iterator[Event]:
    rng = np.random.default_rng(0)
    for number in range(count):
        sender, receivers, kind, text = SAID[number % len(SAID)]
        words = " ".join(f"w{word}" for word in rng.integers(5_000, size=20))
        name = str(number // EPISODE)
        yield Event(name, sender, f"{text} {words}", receivers, kind, KINDS)  # type: ignore[arg-type]
