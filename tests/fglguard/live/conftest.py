"""A guard whose scores are known: the last word of what the final agent says decides them."""

import numpy as np
import pytest
import torch

from fglguard.bundle import Bundle
from fglguard.calibration import Calibration
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.events import Event
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.guard import Guard
from fglguard.hashed_text import BLOCKS
from fglguard.hashed_tokens import bucket_counts

KINDS = {"user": "user", "helper": "agent", "mailer": "agent", "web": "tool", "mail": "tool"}
BAD = "wire"
"""The word that the guard was taught to hold back in an agent's last message."""
CALM, SUSPECT = 0.02, 0.98
THRESHOLD = 0.5


def taught() -> Bundle:
    """`small` with one weight on BAD among the words of an agent's last message.

    A last message of n words that BAD is one of gives the logit w / sqrt(n) - 4, since its block
    has unit length and each word occurs once.
    """
    detector = build_detector("small", 384, seed=0)
    bits = PRESET_FEATURES["small"]["word_bits"]
    (bucket,), (count,) = bucket_counts(BAD, bits, "word")
    with torch.no_grad():
        column = (BLOCKS.index("last") << bits) + int(bucket)
        detector.get_parameter("text_weight")[column, 0] = 24.0 * np.sign(count)
        detector.get_parameter("bias").fill_(-4.0)
    encoder = load_encoder("hashed-words")
    return Bundle(
        detector=detector,
        encoder_name=encoder.name,
        encoder_fingerprint=encoder.fingerprint,
        graph=GraphSettings(0, **PRESET_FEATURES["small"]),
        calibration=Calibration(THRESHOLD, 0.1, "max_recall", 1.0, 0.0, 5, 5),
        model_id="model",
        calibration_id="calibration",
    )


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return taught()


@pytest.fixture
def make_guard(bundle):
    made = []

    def make(encoder=None, **options) -> Guard:
        guard = Guard(bundle, encoder or load_encoder("hashed-words"), **options)
        made.append(guard)
        return guard

    yield make
    for guard in made:
        guard.close()


def asked(episode: str = "e", text: str = "Please send the report to Kim", **changes) -> Event:
    return Event(episode, "user", text, ("helper",), agents=KINDS, **changes)


def reply(text: str, episode: str = "e", **changes) -> Event:
    return Event(episode, "helper", text, ("user",), **changes)


def call(text: str, episode: str = "e", tool: str = "mail", **changes) -> Event:
    return Event(episode, "helper", text, (tool,), kind="call", tool=tool, **changes)


GOOD_TEXT, BAD_TEXT = "the report was sent", f"now {BAD} them money"


class Failing:
    """An encoder that fails, waits, or encodes, as it is told."""

    def __init__(self) -> None:
        self._real = load_encoder("hashed-words")
        self.name, self.dimension = self._real.name, self._real.dimension
        self.fingerprint = self._real.fingerprint
        self.before = lambda: None

    def encode(self, texts, *, progress=False):
        self.before()
        return self._real.encode(texts)
