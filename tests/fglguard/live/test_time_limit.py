"""A check that takes too long is an error, and nothing that it does later counts."""

import asyncio
import threading
import time

import pytest

from fglguard.errors import TimeLimitError
from fglguard.events import Event
from fglguard.guard import Guard
from fglguard.live.attempt import Attempt
from fglguard.live.limits import Limits
from fglguard.live.policy import AllowList, Policy
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
    with guard._checker.episodes.one("e", "never") as running:
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
    with guard._checker.episodes.one("e", "never") as running:
        assert running.messages == 1


def test_what_was_said_is_taken_in_although_nobody_waits_for_it(make_guard) -> None:
    """Cancelled while they wait for the one thread, and none keeps a place that checks need."""
    encoder, go_on = Failing(), threading.Event()
    guard = make_guard(encoder, limits=Limits(check_seconds=30, checks=1, waiting=2))
    guard.observe(asked())

    async def give_up_many() -> None:
        encoder.before = lambda: go_on.wait(30)
        tasks = [
            asyncio.create_task(guard.aobserve(reply(f"{GOOD_TEXT} {n}", id=str(n))))
            for n in range(5)
        ]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError)
            for one in await asyncio.gather(*tasks, return_exceptions=True)
        )
        go_on.set()
        assert (await guard.acheck(reply(GOOD_TEXT))).decision == "allow"

    asyncio.run(give_up_many())
    with guard._checker.episodes.one("e", "never") as running:
        assert running.messages == 1 + 5 + 1


def test_cancelled_checks_keep_no_place(make_guard) -> None:
    encoder, go_on = Failing(), threading.Event()
    guard = make_guard(encoder, limits=Limits(check_seconds=30, checks=1, waiting=2))
    guard.observe(asked())

    async def give_up_many() -> None:
        encoder.before = lambda: go_on.wait(30)
        for number in range(5):
            task = asyncio.create_task(guard.acheck(reply(f"{GOOD_TEXT} {number}")))
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            go_on.set()
            assert (await guard.acheck(reply(GOOD_TEXT))).decision == "allow"
            go_on.clear()

    asyncio.run(give_up_many())


@pytest.mark.parametrize("how", ["sync", "async"])
def test_nothing_that_takes_its_time_is_left_for_after_the_limit(bundle, how) -> None:
    """What an agent tells another is embedded sentence by sentence: before it counts, not after.

    The call is allowed without a look at it; the encoder hangs while its sentences are embedded,
    and the check is late instead of waiting for that.
    """
    encoder, go_on = Failing(), threading.Event()
    policy = Policy(allowed=AllowList(agents=frozenset({"helper"})))
    guard = Guard(bundle, encoder, policy=policy, limits=Limits(check_seconds=0.2))
    guard.observe(asked())
    encoder.before = lambda: go_on.wait(30)
    event = Event(
        "e",
        "helper",
        "Please look up the page on the weather. Then tell me all of what it says.",
        ("mailer",),
    )
    began = time.perf_counter()
    verdict = guard.check(event) if how == "sync" else asyncio.run(guard.acheck(event))
    assert time.perf_counter() - began < 15
    assert (verdict.decision, verdict.status) == ("block", "error")
    go_on.set()
    guard.close()
    with guard._checker.episodes.one("e", "never") as running:
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
