"""What a running guard lets out, holds back, and remembers."""

import pytest

from fglguard.errors import EpisodeError
from fglguard.events import Event
from fglguard.live.limits import Limits
from fglguard.live.policy import AllowList, Policy
from tests.fglguard.live.conftest import (
    BAD_TEXT,
    GOOD_TEXT,
    KINDS,
    THRESHOLD,
    Failing,
    asked,
    call,
    reply,
)


def messages_of(guard, episode="e") -> int:
    with guard._checker.episodes.one(episode, "never") as running:
        return running.messages


def test_a_calm_answer_goes_out_and_counts_as_said(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    verdict = guard.check(reply(GOOD_TEXT))
    assert (verdict.decision, verdict.status, verdict.blocked) == ("allow", "success", False)
    assert verdict.corroborated_score < THRESHOLD == verdict.threshold
    assert set(verdict.agents) == {"user", "helper"}
    assert (verdict.agent, verdict.kind) == ("helper", "say")
    assert verdict.content_hash == reply(GOOD_TEXT).content_hash
    assert messages_of(guard) == 2


def test_a_suspect_answer_is_held_back_and_leaves_nothing_behind(make_guard) -> None:
    """n = 4 words: logit 24 / 2 - 4 = 8, score 0.99966."""
    guard = make_guard()
    guard.observe(asked())
    verdict = guard.check(reply(BAD_TEXT))
    assert (verdict.decision, verdict.status, verdict.blocked) == ("block", "success", True)
    assert verdict.score == pytest.approx(0.999665, abs=1e-5)
    assert "the final agent 'helper' scores 0.9997, at or above" in verdict.reason
    assert messages_of(guard) == 1
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_an_answer_is_as_suspect_as_the_agent_that_it_heard(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.observe(Event("e", "mailer", BAD_TEXT, ("helper",)))
    verdict = guard.check(reply(GOOD_TEXT))
    assert verdict.blocked
    assert verdict.score < THRESHOLD < verdict.corroborated_score
    assert "'mailer', heard by the final agent 'helper'" in verdict.reason


def test_what_drove_a_block_is_told_the_largest_change_first(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.observe(Event("e", "mailer", "all quiet", ("helper",)))
    first, *_ = guard.check(reply(BAD_TEXT)).drivers
    assert (first.sender, first.receiver, first.messages) == ("helper", "user", (2,))
    assert first.change > 1
    assert not make_guard(policy=Policy(explain=False)).check(reply(BAD_TEXT)).drivers


def test_calls_are_checked_where_the_policy_says_so(make_guard) -> None:
    quiet, strict = make_guard(), make_guard(policy=Policy(calls=True))
    for guard in (quiet, strict):
        guard.observe(asked())
    passed = quiet.check(call(BAD_TEXT))
    assert (passed.decision, passed.status) == ("allow", "skipped")
    assert passed.reason == "tool calls are not checked"
    assert messages_of(quiet) == 2
    assert strict.check(call(BAD_TEXT)).decision == "block"
    assert messages_of(strict) == 1


@pytest.mark.parametrize(
    ("allowed", "reason"),
    [
        (AllowList(agents=frozenset({"helper"})), "agent 'helper'"),
        (AllowList(tools=frozenset({"mail"})), "tool 'mail'"),
        (AllowList(hashes=frozenset({call(BAD_TEXT).content_hash})), "content "),
    ],
)
def test_each_use_of_an_allow_list_is_told(make_guard, allowed, reason) -> None:
    guard = make_guard(policy=Policy(calls=True, allowed=allowed))
    guard.observe(asked())
    verdict = guard.check(call(BAD_TEXT))
    assert (verdict.decision, verdict.status) == ("allow", "skipped")
    assert verdict.reason.startswith(f"let through by the allow-list: {reason}")
    assert messages_of(guard) == 2


def test_an_allow_list_lets_nothing_else_through(make_guard) -> None:
    allowed = AllowList(
        frozenset({"other"}), frozenset({"web"}), frozenset({reply("else").content_hash})
    )
    guard = make_guard(policy=Policy(calls=True, allowed=allowed))
    guard.observe(asked())
    assert guard.check(call(BAD_TEXT)).blocked
    assert guard.check(reply(BAD_TEXT, tool="web")).blocked


def test_shadow_mode_decides_and_holds_nothing_back(make_guard) -> None:
    guard = make_guard(policy=Policy(mode="shadow"))
    guard.observe(asked())
    verdict = guard.check(reply(BAD_TEXT))
    assert (verdict.decision, verdict.enforced, verdict.blocked) == ("block", False, False)
    assert messages_of(guard) == 2


@pytest.mark.parametrize("on_error", ["block", "allow"])
def test_an_error_is_no_violation_and_takes_the_operators_decision(make_guard, on_error) -> None:
    guard = make_guard(policy=Policy(on_error=on_error))
    verdict = guard.check(reply(GOOD_TEXT, episode="never seen"))
    assert (verdict.decision, verdict.status, verdict.score) == (on_error, "error", None)
    assert "episode 'never seen': expected one that runs" in verdict.reason


def test_an_encoder_that_raises_blocks_and_what_it_says_is_not_quoted(make_guard) -> None:
    encoder = Failing()
    guard = make_guard(encoder)
    guard.observe(asked())

    def fail():
        raise RuntimeError("private words")

    encoder.before = fail
    verdict = guard.check(reply("something new"))
    assert (verdict.decision, verdict.status) == ("block", "error")
    assert "RuntimeError" in verdict.reason
    assert "private" not in verdict.reason
    encoder.before = lambda: None
    assert guard.check(reply("something new")).decision == "allow"


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event("e", "stranger", "hello", ("user",)), "sender: 'stranger' is new to the episode"),
        (Event("e", "helper", "hello", ("stranger",)), "receivers: 'stranger' is new"),
        (Event("e", "helper", "  ", ("user",)), "event.text: expected some text"),
        (Event("e", "helper", "a" * 600_000, ("user",)), "expected at most 524288 bytes"),
        (Event("e", "helper", "\ud800", ("user",)), "lone surrogate"),
        (Event("e", "helper", "hello", ("user",), kind="shout"), "kind: expected one of say"),
        (Event("e", "helper", "hello", ("user",), round=-1), "round: expected 0 or later"),
        (Event("e", "helper", "x", agents={"helper": "tool"}), "declared as agent before"),
        (Event("e", "new", "x", agents={"new": "robot"}), "expected one of user, agent"),
        (Event(" ", "helper", "x"), "episode: expected a non-empty string"),
    ],
)
def test_what_can_be_no_message_is_refused_and_let_through_by_no_check(
    make_guard, event, message
) -> None:
    guard = make_guard()
    guard.observe(asked())
    with pytest.raises(EpisodeError, match=message):
        guard.observe(event)
    verdict = guard.check(event)
    assert (verdict.decision, verdict.status) == ("block", "error")
    assert messages_of(guard) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"text": None}, "text: expected a string, got a NoneType"),
        ({"sender": 3}, "sender: expected a string"),
        ({"receivers": "user"}, "receivers: expected a list of ids"),
        ({"receivers": [1]}, r"receivers\[0\]: expected a string"),
        ({"agents": ["user"]}, "agents: expected kinds by id"),
        ({"id": 7}, "id: expected a string"),
    ],
)
def test_an_event_of_other_types_can_not_be_made(values, message) -> None:
    with pytest.raises(EpisodeError, match=message):
        Event(**{"episode": "e", "sender": "helper", "text": "hello", **values})


def test_an_event_sent_twice_is_taken_once(make_guard) -> None:
    guard = make_guard()
    assert guard.observe(asked(id="1"))
    assert not guard.observe(asked(id="1"))
    assert messages_of(guard) == 1
    with pytest.raises(EpisodeError, match="id: '1' was used for another event"):
        guard.observe(asked(text="something else", id="1"))


def test_calls_of_one_step_get_their_verdicts_again_whatever_their_order(make_guard) -> None:
    """A graph's step that is begun anew asks about each of its calls again."""
    guard = make_guard(policy=Policy(calls=True))
    guard.observe(asked())
    calls = [call(f'mail {{"to": "kim{n}"}}', id=str(n)) for n in range(3)]
    first = [guard.check(one) for one in calls]
    assert {verdict.decision for verdict in first} == {"allow"}
    assert [guard.check(one) for one in reversed(calls)] == first[::-1]
    assert messages_of(guard) == 4
    guard.observe(Event("e", "mail", "sent", ("helper",), "result"))
    assert {guard.check(one).status for one in calls} == {"error"}


def test_what_was_let_out_is_let_out_again_until_something_else_is_said(make_guard) -> None:
    """A retry gets the verdict that was lost; a replay later, or of another text, goes nowhere."""
    guard = make_guard()
    guard.observe(asked())
    first = guard.check(reply(GOOD_TEXT, id="2"))
    assert first.decision == "allow"
    assert guard.check(reply(GOOD_TEXT, id="2")) == first
    assert messages_of(guard) == 2
    assert guard.check(reply(f"{GOOD_TEXT} now", id="2")).status == "error"
    guard.observe(asked(text="and then?"))
    assert guard.check(reply(GOOD_TEXT, id="2")).status == "error"


def test_what_was_only_observed_was_not_let_out(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.observe(reply(GOOD_TEXT, id="2"))
    assert guard.check(reply(GOOD_TEXT, id="2")).status == "error"
    assert not guard.was_let_out(reply(GOOD_TEXT, id="2"))
    guard.approve(reply(GOOD_TEXT, id="3"))
    assert guard.was_let_out(reply(GOOD_TEXT, id="3"))
    assert not guard.was_let_out(reply("another text", id="3"))
    assert not guard.was_let_out(reply(GOOD_TEXT, id="3", episode="another"))


def test_text_in_any_script_and_with_control_characters_is_scored(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    for text in ("Überweisung ﷽ 汉字 🙂", "a\x00b\x1b[31m\u202e", "٠١٢", "\U000e0041 tag"):
        assert guard.check(reply(text)).status == "success"


def test_a_full_episode_says_so_and_lets_nothing_through(make_guard) -> None:
    guard = make_guard(limits=Limits(messages=2, agents=5, bytes=100))
    guard.observe(asked())
    # The text, and the ids that it brings: helper, once as who hears it and once as new, ...
    kept = 29 + len("helper") + len("userhelpermailerwebmail")
    with pytest.raises(EpisodeError, match=f"is full: {kept} bytes of text, and at most 100 fit"):
        guard.observe(reply("a" * 80))
    guard.observe(reply(GOOD_TEXT))
    assert "is full: 2 messages" in guard.check(reply(GOOD_TEXT)).reason
    with pytest.raises(EpisodeError, match="expected at most 5 agents, got 6"):
        guard.observe(Event("f", "user", "hi", agents={**asked().agents, "more": "tool"}))


def test_agents_of_a_draft_that_is_held_back_are_not_remembered(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.check(reply(BAD_TEXT, agents={"printer": "tool"}))
    with pytest.raises(EpisodeError, match="'printer' is new"):
        guard.observe(Event("e", "printer", "done", ("helper",), kind="result"))


def test_a_review_adds_nothing_and_of_what_is_unknown_is_an_error(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.observe(reply(BAD_TEXT))
    verdict = guard.review("e", "helper")
    assert (verdict.decision, verdict.status) == ("block", "success")
    assert messages_of(guard) == 2
    for episode, agent, said in (("e", "nobody", "'nobody' is not one"), ("f", "helper", "'f'")):
        verdict = guard.review(episode, agent)
        assert (verdict.decision, verdict.status) == ("block", "error")
        assert said in verdict.reason


def test_a_failing_explanation_leaves_the_decision_and_is_told(make_guard, monkeypatch) -> None:
    def fail(*_):
        raise RuntimeError("private words")

    monkeypatch.setattr("fglguard.live.checker.edge_drivers", fail)
    guard = make_guard()
    guard.observe(asked())
    verdict = guard.check(reply(BAD_TEXT))
    assert (verdict.decision, verdict.status, verdict.drivers) == ("block", "success", ())
    assert verdict.reason.endswith("what drove it is unknown (RuntimeError)")


@pytest.mark.parametrize(
    ("sender", "kind"), [("web", "say"), ("user", "say"), ("helper", "result"), ("web", "result")]
)
@pytest.mark.parametrize("policy", [Policy(), Policy(allowed=AllowList(agents=frozenset({"web"})))])
def test_only_what_an_agent_is_about_to_say_is_checked(make_guard, sender, kind, policy) -> None:
    """A tool's result that is scored as an answer would be let out by a score of another kind."""
    guard = make_guard(policy=policy)
    guard.observe(asked())
    if policy.allowed.agents and sender == "web":
        return
    verdict = guard.check(Event("e", sender, GOOD_TEXT, ("user",), kind, KINDS))
    assert (verdict.decision, verdict.status) == ("block", "error")
    assert "expected an agent that is about to say something" in verdict.reason
    assert messages_of(guard) == 1


@pytest.mark.parametrize("policy", [Policy(on_error="allow"), Policy(mode="shadow")])
def test_what_goes_out_although_it_failed_counts_as_said(make_guard, policy) -> None:
    """The scorer fails, so that the operator's word decides; the answer has gone out all the same.

    BAD in it then makes the agent suspect, which is what the last verdict is for.
    """
    guard = make_guard(policy=policy)
    guard.observe(asked())
    scored_one = guard.scorer.scored_one
    guard.scorer.scored_one = lambda graph: 1 / 0
    verdict = guard.check(reply(BAD_TEXT, id="1"))
    guard.scorer.scored_one = scored_one
    assert (verdict.status, verdict.blocked) == ("error", False)
    assert messages_of(guard) == 2
    assert guard.was_let_out(reply(BAD_TEXT, id="1"))
    assert guard.review("e", "helper").decision == "block"


def test_what_goes_out_although_it_can_be_no_message_leaves_a_gap(make_guard) -> None:
    guard = make_guard(policy=Policy(on_error="allow"))
    guard.observe(asked())
    assert not guard.check(reply("a \ud800")).blocked
    assert "lone surrogate" in guard.check(reply(GOOD_TEXT)).reason


def test_one_agents_answer_gives_another_no_second_rewrite(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    other = Event("e", "mailer", GOOD_TEXT, ("helper",))
    assert guard.check(reply(BAD_TEXT), can_rewrite=True).decision == "rewrite"
    assert guard.check(other).decision == "allow"
    assert guard.check(reply(BAD_TEXT), can_rewrite=True).decision == "block"
