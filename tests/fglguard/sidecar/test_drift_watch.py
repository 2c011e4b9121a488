"""One score an episode: that of its last answer as the agent gave it."""

from dataclasses import replace

import pytest

from fglguard.bundle import load_bundle
from fglguard.live.limits import Limits
from fglguard.sidecar.drift_watch import DriftWatch
from fglguard.verdict import Verdict

SCORED = Verdict("e", "allow", "success", 0.5, 0.5, 1.0, "", "m", "c", 1.0, agent="a", kind="say")
FAILED = replace(SCORED, status="error", decision="block", score=None, corroborated_score=None)


def verdict(score, **changes):
    return replace(SCORED, score=score, corroborated_score=score, **changes)


class Watched(DriftWatch):
    """Keeps what the monitor is fed."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.fed = []

    def _feed(self, scores):
        self.fed += scores
        super()._feed(scores)


@pytest.fixture
def watch(bundle):
    now = [0.0]
    watch = Watched(load_bundle(bundle), None, Limits(episodes=2, idle_seconds=10), lambda: now[0])
    watch.now = now
    return watch


def test_an_episode_counts_once_at_its_end(watch):
    for score in (0.1, 0.2, 0.3):
        watch.checked(verdict(score))
    assert watch.report().scores == 0
    watch.ended("e")
    watch.ended("e")
    assert watch.fed == [0.3]
    assert watch.report().scores == 1


def test_idle_and_displaced_episodes_have_ended(watch):
    for name, score in (("x", 0.1), ("y", 0.2), ("z", 0.3)):
        watch.checked(verdict(score, episode_id=name))
    assert watch.fed == [0.1]
    watch.now[0] = 10.0
    assert watch.report().scores == 3
    assert watch.fed == [0.1, 0.2, 0.3]


def test_errors_calls_and_rewrites_do_not_count(watch):
    watch.checked(verdict(0.9, decision="rewrite"))
    watch.checked(verdict(0.1))  # The rewrite: the guard asked for it.
    watch.checked(verdict(0.2, kind="call"))
    watch.checked(FAILED)
    watch.ended("e")
    assert watch.fed == [0.9]
    watch.checked(FAILED)
    watch.ended("e")
    watch.scored(FAILED)
    assert watch.fed == [0.9]
    watch.scored(verdict(0.4))
    assert watch.fed == [0.9, 0.4]


def test_an_alert_is_logged_once(watch, caplog):
    """The reference is uniform; scores all in its last bin can't be."""
    for _ in range(200):
        watch.scored(verdict(0.99))
    assert caplog.text.count("DRIFT: live scores drifted: they lie higher") == 1
    assert watch.report().alert
