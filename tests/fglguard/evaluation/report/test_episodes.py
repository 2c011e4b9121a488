import math

import numpy as np
import pytest

from fglguard.bundle import load_bundle
from fglguard.evaluation.report import episodes
from fglguard.evaluation.report.episodes import choose, view_episodes
from fglguard.guard import Guard


def test_which_episodes_are_worth_a_look_by_hand():
    """tau = .5. Highest: 0 (.9, safe), 1 (.8, unsafe). Missed, lowest first: 4, 3, 2.

    False alarms, highest first: 0 is shown already, so 5 (.6) alone is left.
    """
    scores = np.array([0.9, 0.8, 0.4, 0.3, 0.1, 0.6, 0.2])
    labels = np.array([0, 1, 1, 1, 1, 0, 0])
    assert choose(scores, labels, scores >= 0.5, each=2) == {
        0: ("most suspicious", "false alarm"),
        1: ("most suspicious",),
        4: ("missed",),
        3: ("missed",),
        5: ("false alarm",),
    }


def test_where_nothing_is_blocked_the_most_suspicious_are_missed():
    scores = np.array([0.9, 0.2])
    chosen = choose(scores, np.array([1, 0]), scores >= math.inf, each=3)
    assert chosen == {0: ("most suspicious", "missed"), 1: ("most suspicious",)}


def test_unlabelled_episodes_are_neither_missed_nor_false_alarms():
    scores = np.array([0.9, 0.2])
    chosen = choose(scores, np.array([-1, -1]), scores >= 0.5, each=1)
    assert chosen == {0: ("most suspicious",)}


def test_no_episodes_give_none(silo, run_folder):
    assert choose(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, bool), each=2) == {}
    assert view_episodes([], load_bundle(run_folder / "guard"), with_text=True).shown == ()


def test_risks_are_those_of_the_guards_verdicts(silo, run_folder):
    """`Guard.score` encodes the texts again; the viewer scores packed graphs."""
    guard = Guard.load(run_folder / "guard")
    views = view_episodes([silo], guard.bundle, with_text=True)
    assert views.scored == views.held == np.count_nonzero(silo.split == 2)
    by_id = {e.id: e for e in silo.episodes()}
    verdicts = guard.score([by_id[view.name] for view in views.shown])
    for view, verdict in zip(views.shown, verdicts, strict=True):
        assert {a.name: a.risk for a in view.agents} == pytest.approx(verdict.agents, abs=1e-6)
        assert view.corroborated == pytest.approx(verdict.corroborated_score, abs=1e-6)
        assert view.raw == pytest.approx(verdict.score, abs=1e-6)
        assert view.blocked == (verdict.decision == "block")
        assert view.agents[view.final].name == by_id[view.name].final_agent
        assert [m.text for m in view.messages] == by_id[view.name].texts


def test_without_text_no_name_that_a_site_chose_is_left(silo, run_folder, canaries):
    views = view_episodes([silo], load_bundle(run_folder / "guard"), with_text=False)
    assert views.shown and not views.hold_text
    assert {a.name for a in views.shown[0].agents} == {"user 1", "agent 1", "tool 1"}
    assert not any(canary in repr(views) for canary in canaries)


def test_a_large_test_split_is_looked_at_evenly(silo, run_folder, monkeypatch):
    held = np.count_nonzero(silo.split == 2)
    monkeypatch.setattr(episodes, "MOST_SCORED", 5)
    views = view_episodes([silo], load_bundle(run_folder / "guard"), with_text=True)
    assert views.held == held
    assert 0 < views.scored <= 5
