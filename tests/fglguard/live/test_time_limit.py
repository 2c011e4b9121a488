"""A check that takes too long is an error, and nothing that it does later counts."""

import asyncio
import threading

import pytest

from fglguard.errors import TimeLimitError
from fglguard.live.attempt import Attempt
from fglguard.live.limits import Limits
from tests.fglguard.live.conftest import GOOD_TEXT, Failing, asked, reply


@pytest.fixture
def slow(make_guard):
    """A guard of a tenth of a second a check, and an event that lets its encoder go on."""
    encoder, go_on = Failing(), threading.Event()
    guard = make_guard(encoder, limits=Limits(check_seconds=0.1, checks=1))
    guard.observe(asked())
    encoder.before = lambda: go_on.wait(30)
    yield guard, go_on
    go_on.set()


def late(guard, how):
    if how == "sync":
        return guard.check(reply(GOOD_TEXT))
    return asyncio.run(guard.acheck(reply(GOOD_TEXT)))


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_late_check_blocks_and_its_answer_never_counts_as_said(slow, how) -> None:
    guard, go_on = slow
    verdict = late(guard, how)
    assert (verdict.decision, verdict.status) == ("block", "error")
    assert "TimeLimitError: not done within 0.1 s" in verdict.reason
    go_on.set()
    guard.close()  # waits for the check that goes on
    with guard._checker.episodes.one("e", new=False) as running:
        assert running.messages == 1


def test_checks_that_find_no_thread_free_are_late_as_well(slow) -> None:
    guard, _ = slow
    assert late(guard, "sync").status == "error"
    assert late(guard, "sync").status == "error"


@pytest.mark.parametrize("how", ["sync", "async"])
def test_of_checks_that_wait_only_so_many_are_held(make_guard, how) -> None:
    encoder, go_on = Failing(), threading.Event()
    guard = make_guard(encoder, limits=Limits(check_seconds=0.4, checks=1, waiting=2))
    guard.observe(asked())
    encoder.before = lambda: go_on.wait(30)
    reasons = [late(guard, how).reason for _ in range(5)]
    assert all("not done within 0.4 s" in reason for reason in reasons[:3])
    assert all("2 checks wait for a thread already" in reason for reason in reasons[3:])
    go_on.set()
    guard.close()
    with guard._checker.episodes.one("e", new=False) as running:
        assert running.messages == 1


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_closed_guard_lets_nothing_through(make_guard, how) -> None:
    guard = make_guard(limits=Limits(check_seconds=1))
    guard.observe(asked())
    guard.close()
    verdict = late(guard, how)
    assert (verdict.decision, verdict.status) == ("block", "error")


def test_an_attempt_is_committed_or_given_up_but_never_both() -> None:
    committed, given_up = Attempt(), Attempt()
    committed.commit()
    assert not committed.give_up()
    assert given_up.give_up()
    for late_step in (given_up.begin, given_up.commit):
        with pytest.raises(TimeLimitError, match="given up"):
            late_step()
