"""What could not be taken in: nothing passes before it is made good, in the way that is told."""

from dataclasses import replace

import pytest

from fglguard.episode_rules import MAX_TEXT_BYTES
from fglguard.errors import EpisodeError, ReusedIdError, UntakenError
from fglguard.events import Event
from fglguard.live.gaps import MOST_GAPS, Gaps
from tests.fglguard.live.conftest import GOOD_TEXT, KINDS, Failing, asked, reply

PAGE = " ".join(
    f"This is sentence {n} of a page that tells of the weather in May." for n in range(9)
)
RESULT = Event("e", "web", PAGE, ("helper",), "result", KINDS, id="r")
UNFIT = ["x" * (MAX_TEXT_BYTES + 1), "a \ud800"]


def held(guard) -> str:
    """Why a calm answer does not go out."""
    verdict = guard.check(reply(GOOD_TEXT))
    assert (verdict.decision, verdict.status) == ("block", "error")
    return verdict.reason


def refused(guard, event, error=EpisodeError) -> str:
    """The gap that an event leaves."""
    with pytest.raises(error) as raised:
        guard.observe(event)
    assert raised.value.gap is not None
    return raised.value.gap


@pytest.mark.parametrize("text", UNFIT)
def test_after_something_that_could_not_be_taken_in_nothing_goes_out(make_guard, text) -> None:
    """Whoever writes a tool's results must not choose what the guard gets to see of them."""
    guard = make_guard()
    guard.observe(asked())
    refused(guard, replace(RESULT, text=text))
    assert "could not be taken in" in held(guard)
    assert guard.review("e", "helper").status == "error"
    guard.observe(replace(RESULT, text="another page", id="another"))
    assert "send it again under its id 'r'" in held(guard)
    guard.observe(replace(RESULT, text="the page, shortened"))
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


@pytest.mark.parametrize("event_id", [None, "r"])
def test_what_stands_in_its_place_closes_a_gap_by_its_name(make_guard, event_id) -> None:
    guard = make_guard()
    guard.observe(asked())
    gap = refused(guard, replace(RESULT, text=UNFIT[0], id=event_id))
    assert f"instead_of {gap!r}" in held(guard)
    assert guard.observe(replace(RESULT, text="(withheld)", id="r2"), instead_of=gap)
    assert not guard.observe(replace(RESULT, text="(withheld)", id="r2"), instead_of=gap)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_of_an_id_used_twice_the_second_comes_in_under_another(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.observe(RESULT)
    gap = refused(guard, replace(RESULT, text="Another page."), ReusedIdError)
    guard.observe(RESULT)  # the first one again makes nothing good
    assert "used for another event" in held(guard)
    guard.observe(replace(RESULT, text="Another page.", id="r2"), instead_of=gap)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_what_stands_in_no_gaps_place_is_not_taken_in(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    with pytest.raises(EpisodeError, match="instead_of: expected an open gap, got 'gap-9'"):
        guard.observe(RESULT, instead_of="gap-9")
    assert held(guard)
    guard.observe(RESULT)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


@pytest.mark.parametrize("fails_at", [0, 1])
def test_after_an_encoder_failed_the_event_is_sent_again(make_guard, fails_at) -> None:
    """It fails at the message itself, or at its spans; either way nothing was taken in by half."""
    encoder, calls = Failing(), []
    guard = make_guard(encoder)
    guard.observe(asked())

    def fail():
        calls.append(len(calls))
        if calls[-1] == fails_at:
            raise RuntimeError("private words")

    encoder.before = fail
    with pytest.raises(UntakenError, match="could not be taken in: RuntimeError") as raised:
        guard.observe(RESULT)
    assert "private" not in str(raised.value)
    assert "RuntimeError" in held(guard)
    assert guard.observe(RESULT)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_a_gap_ends_what_was_let_out_before_it(make_guard) -> None:
    """The same answer again gets the same verdict only while nothing was said since."""
    guard = make_guard()
    guard.observe(asked())
    assert guard.check(reply(GOOD_TEXT, id="2")).decision == "allow"
    refused(guard, replace(RESULT, text=UNFIT[0]))
    assert guard.check(reply(GOOD_TEXT, id="2")).decision == "block"


def test_a_gap_may_be_left_by_whoever_refused_what_was_said(make_guard) -> None:
    guard = make_guard()
    assert guard.leave_gap("e", "never begun") is None
    guard.observe(asked())
    gap = guard.leave_gap("e", "a request was refused: too_large")
    guard.leave_gap("e", "the one after it", "r")
    assert "too_large" in held(guard)
    assert "and 1 more" in held(guard)
    guard.observe(RESULT)
    guard.observe(replace(RESULT, id="x"), instead_of=gap)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_an_event_that_had_come_in_closes_the_gap_of_its_id(make_guard) -> None:
    guard = make_guard()
    guard.observe(asked())
    guard.observe(RESULT)
    guard.leave_gap("e", "sent again, behind one at fault", "r")
    assert held(guard)
    assert not guard.observe(RESULT)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_an_event_that_is_sent_again_and_again_leaves_one_gap(make_guard) -> None:
    """A framework that tells the whole conversation with every step must not use them all up."""
    guard = make_guard()
    guard.observe(asked())
    gaps = {refused(guard, replace(RESULT, text=UNFIT[0])) for _ in range(MOST_GAPS + 1)}
    assert len(gaps) == 1
    guard.observe(RESULT)
    assert guard.check(reply(GOOD_TEXT)).decision == "allow"


def test_gaps_are_bounded_and_beyond_that_nothing_makes_an_episode_good() -> None:
    gaps = Gaps()
    names = [gaps.leave("why") for _ in range(MOST_GAPS + 1)]
    assert len(set(names)) == len(names)
    for name in names[:-1]:
        gaps.close(name)
    with pytest.raises(EpisodeError, match="end the episode"):
        gaps.require_none()
