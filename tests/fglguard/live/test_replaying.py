"""A stored episode, message by message, ends with the score that training gave it."""

import numpy as np
import pytest

from fglguard.bundle import Bundle
from fglguard.calibration import Calibration
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.guard import Guard
from fglguard.live.policy import Policy
from fglguard.silo import Silo
from fglguard.training import score_graphs
from tests.fglguard.flow.conftest import build

CORPORA = ("agent_safetybench", "agentdojo", "openagentsafety", "rjudge")
EACH = 50


def fresh_guard(preset: str, rounds: int, seed: int = 3, **policy) -> Guard:
    """A guard of random weights, so that every feature counts."""
    encoder = load_encoder("hashed-words")
    detector = build_detector(preset, encoder.dimension, seed)
    draws = np.random.default_rng(seed)
    for name, parameter in detector.named_parameters():
        if preset != "paper" and name != "moments":
            parameter.data += parameter.new_tensor(draws.normal(size=tuple(parameter.shape)))
    bundle = Bundle(
        detector=detector,
        encoder_name=encoder.name,
        encoder_fingerprint=encoder.fingerprint,
        graph=GraphSettings(rounds, **PRESET_FEATURES[preset]),
        calibration=Calibration(0.5, 0.1, "max_recall", 1.0, 0.0, 5, 5),
        model_id="model",
        calibration_id="calibration",
    )
    return Guard(bundle, encoder, policy=Policy(calls=True, explain=False, **policy))


@pytest.mark.parametrize(("preset", "rounds"), [("paper", 2), ("small", 0), ("recommended", 1)])
def test_each_agents_message_is_judged_and_the_whole_episode_last(preset, rounds) -> None:
    guard, episode = fresh_guard(preset, rounds), build()
    verdicts = guard.replay(episode)
    assert [(v.agent, v.kind) for v in verdicts] == [
        ("reader", "call"),
        ("reader", "say"),
        ("banker", "call"),
        ("banker", "say"),
        (None, None),
    ]
    (whole,) = guard.score([episode])
    assert verdicts[-1].score == pytest.approx(whole.score, abs=1e-5)
    assert verdicts[-1].corroborated_score == verdicts[-2].corroborated_score
    assert not guard.running


@pytest.mark.long
@pytest.mark.parametrize(("preset", "rounds"), [("paper", 3), ("small", 0), ("recommended", 0)])
@pytest.mark.parametrize("name", CORPORA)
def test_real_episodes_get_the_scores_of_training_message_by_message(
    real, name, preset, rounds, tmp_path
) -> None:
    """Four times 50 real episodes: packed for training, and replayed as if they ran."""
    guard = fresh_guard(preset, rounds)
    silo = Silo.create(tmp_path / "silo", real(name)[:EACH], seed=0)
    silo.prepare(guard.scorer.encoder, guard.bundle.graph)
    packed = silo.graphs(guard.bundle.encoder_fingerprint, guard.bundle.graph)
    trained = score_graphs(guard.bundle.detector, packed)
    live = [guard.replay(episode)[-1] for episode in silo.episodes()]
    assert len(live) == EACH
    assert np.allclose([v.score for v in live], trained.raw, rtol=0, atol=1e-5)
    assert np.allclose([v.corroborated_score for v in live], trained.corroborated, 0, 1e-5)
