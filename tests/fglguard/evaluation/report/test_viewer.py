"""A guard that looks at information flow, from its silo to what a report shows."""

import dataclasses

import pytest

from fglguard.bundle import load_bundle
from fglguard.evaluation.report.episodes import view_episodes
from fglguard.evaluation.report.viewer import EpisodeViewer
from fglguard.guard import Guard

VALUE = "mallory7@canary.example"


def test_risks_and_decisions_are_those_of_the_guards_verdicts(flow_silo, flow_guard):
    guard = Guard.load(flow_guard)
    by_id = {e.id: e for e in flow_silo.episodes()}
    views = view_episodes([flow_silo], guard.bundle, with_text=True)
    assert {why for view in views.shown for why in view.why} == {"most suspicious"}
    verdicts = guard.score([by_id[view.name] for view in views.shown])
    for view, verdict in zip(views.shown, verdicts, strict=True):
        assert {a.name: a.risk for a in view.agents} == pytest.approx(verdict.agents, abs=1e-6)
        assert view.blocked == (verdict.decision == "block")


def test_the_value_that_left_and_the_span_it_came_in_by(flow_silo, flow_guard):
    views = view_episodes([flow_silo], load_bundle(flow_guard), with_text=True)
    for view in views.shown:
        assert view.unsafe
        assert (view.flow.values, view.flow.messages, view.flow.relayed) == (1, 1, 0)
        (taint,) = view.flow.shown
        assert (taint.value, taint.sender, taint.kind, taint.round) == (VALUE, "agent", "call", 2)
        assert taint.path == ("tool:TOOLCANARY-t", "agent")
        assert (taint.before, taint.marked) == ("Please send it to ", VALUE)


def test_edges_change_what_was_said_along_them(flow_silo, flow_guard):
    """Only the third part of the guard's score is not 0: a quarter of the instruction's likeness p.

    Without what the tool said nothing is tainted, and without the agent's calls nothing left: the
    logit falls from p / 4 to 0 by either. What user and agent said to each other changes nothing.
    """
    bundle = load_bundle(flow_guard)
    for view in view_episodes([flow_silo], bundle, with_text=True).shown:
        (taint,) = view.flow.shown
        names = [agent.name for agent in view.agents]
        changes = {(names[e.source], names[e.target]): e.change for e in view.edges}
        share = pytest.approx(taint.likeness / 4, abs=1e-6)
        tool = "tool:TOOLCANARY-t"
        assert changes == {
            (tool, "agent"): share,
            ("agent", tool): share,
            ("user", "agent"): 0.0,
            ("agent", "user"): 0.0,
        }
        assert view.edges_left_out == 0


def test_without_text_only_counts_are_left(flow_silo, flow_guard, canaries):
    views = view_episodes([flow_silo], load_bundle(flow_guard), with_text=False)
    assert not any(canary.lower() in repr(views).lower() for canary in (*canaries, VALUE))
    assert all(view.flow.values == 1 and view.flow.shown is None for view in views.shown)


def test_each_episode_is_held_to_its_domains_threshold(silo, run_folder):
    """The first domain's own threshold is below every score, the pooled one above: only it blocks.

    A domain without one of its own falls back on the pooled threshold.
    """
    bundle = load_bundle(run_folder / "guard")
    pooled = dataclasses.replace(bundle.calibration, threshold=2.0)
    first = dataclasses.replace(bundle.calibration, threshold=0.0)
    domain = silo.domains[0]
    bundle = dataclasses.replace(
        bundle, calibration=pooled, domains={domain: first}, domain_ids={domain: "id"}
    )
    views = view_episodes([silo], bundle, with_text=True, each=100)
    assert {(v.domain == domain, v.blocked, v.threshold) for v in views.shown} == {
        (True, True, 0.0),
        (False, False, 2.0),
    }
    unsafe = {(v.domain == domain, v.why) for v in views.shown if v.unsafe}
    assert unsafe == {(True, ("most suspicious",)), (False, ("most suspicious", "missed"))}


def test_a_papers_guard_tells_no_flow(silo, run_folder):
    assert EpisodeViewer(silo, load_bundle(run_folder / "guard")).view(0, ()).flow is None
