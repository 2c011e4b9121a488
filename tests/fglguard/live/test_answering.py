"""One rewrite, scored by the same rule; then the safe message."""

import asyncio

import pytest

from fglguard.events import Event
from fglguard.live.policy import SAFE_MESSAGE, Policy
from tests.fglguard.live.conftest import BAD_TEXT, GOOD_TEXT, asked, reply


def answered(guard, text, rewrite, how):
    """By `answer` or its twin, which must do the same."""
    if how == "sync":
        return guard.answer(reply(text), rewrite)

    async def later(event, verdict):
        return rewrite(event, verdict)

    return asyncio.run(guard.aanswer(reply(text), later if rewrite else None))


@pytest.fixture(params=["sync", "async"])
def how(request):
    return request.param


def test_a_calm_answer_is_not_rewritten(make_guard, how) -> None:
    guard = make_guard()
    guard.observe(asked())
    outcome = answered(guard, GOOD_TEXT, lambda *_: pytest.fail("asked for a rewrite"), how)
    assert (outcome.text, outcome.released, outcome.rewritten) == (GOOD_TEXT, True, False)


def test_a_rewrite_that_is_calm_goes_out(make_guard, how) -> None:
    guard = make_guard()
    guard.observe(asked())
    told = []

    def rewrite(event, verdict):
        told.append((event.text, verdict.decision))
        return GOOD_TEXT

    outcome = answered(guard, BAD_TEXT, rewrite, how)
    assert told == [(BAD_TEXT, "rewrite")]
    assert (outcome.text, outcome.released, outcome.rewritten) == (GOOD_TEXT, True, True)
    assert [verdict.decision for verdict in outcome.verdicts] == ["rewrite", "allow"]


def test_a_rewrite_that_is_suspect_still_is_refused_and_not_asked_for_again(
    make_guard, how
) -> None:
    guard = make_guard()
    guard.observe(asked())
    told = []
    outcome = answered(guard, BAD_TEXT, lambda e, _: told.append(e) or f"again {BAD_TEXT}", how)
    assert len(told) == 1
    assert (outcome.text, outcome.released) == (SAFE_MESSAGE, False)
    assert [verdict.decision for verdict in outcome.verdicts] == ["rewrite", "block"]
    # The same turn: no second rewrite, by whatever call.
    assert guard.check(reply(BAD_TEXT), can_rewrite=True).decision == "block"
    # A user who is known already need not be declared again.
    guard.observe(Event("e", "user", "And now something else", ("helper",)))
    assert guard.check(reply(BAD_TEXT), can_rewrite=True).decision == "rewrite"


@pytest.mark.parametrize("text", ["", "  ", None, 7])
def test_a_rewrite_without_text_is_refused(make_guard, how, text) -> None:
    guard = make_guard()
    guard.observe(asked())
    outcome = answered(guard, BAD_TEXT, lambda *_: text, how)
    assert (outcome.text, outcome.released) == (SAFE_MESSAGE, False)


def test_a_rewrite_that_raises_is_refused_and_logged(make_guard, how, caplog) -> None:
    guard = make_guard()
    guard.observe(asked())
    outcome = answered(guard, BAD_TEXT, lambda *_: 1 / 0, how)
    assert (outcome.text, outcome.released) == (SAFE_MESSAGE, False)
    assert "the rewrite failed: ZeroDivisionError" in caplog.text


def test_without_a_rewrite_a_suspect_answer_is_refused(make_guard, how) -> None:
    guard = make_guard(policy=Policy(safe_message="No."))
    guard.observe(asked())
    outcome = answered(guard, BAD_TEXT, None, how)
    assert (outcome.text, [v.decision for v in outcome.verdicts]) == ("No.", ["block"])


def test_an_answer_of_an_unknown_episode_does_not_go_out(make_guard, how) -> None:
    outcome = answered(make_guard(), GOOD_TEXT, lambda *_: GOOD_TEXT, how)
    assert (outcome.text, outcome.verdicts[0].status) == (SAFE_MESSAGE, "error")


def test_in_shadow_mode_the_answer_goes_out_as_it_is(make_guard, how) -> None:
    guard = make_guard(policy=Policy(mode="shadow"))
    guard.observe(asked())
    outcome = answered(guard, BAD_TEXT, lambda *_: pytest.fail("asked for a rewrite"), how)
    assert (outcome.text, outcome.released, outcome.rewritten) == (BAD_TEXT, True, False)
    assert outcome.verdicts[0].decision == "rewrite"


def test_a_rewrite_has_the_answers_id_and_is_taken_in_once(make_guard, how) -> None:
    guard = make_guard()
    guard.observe(asked())
    event = reply(BAD_TEXT, id="m")
    if how == "sync":
        guard.answer(event, lambda *_: GOOD_TEXT)
    else:

        async def rewrite(event, verdict):
            return GOOD_TEXT

        asyncio.run(guard.aanswer(event, rewrite))
    assert guard.observe(reply(GOOD_TEXT, id="m")) is False


@pytest.mark.parametrize("on_error", ["block", "allow"])
def test_what_cannot_be_checked_is_an_error_by_the_policy(make_guard, on_error) -> None:
    verdict = make_guard(policy=Policy(on_error=on_error)).failure(reply(GOOD_TEXT), OSError("x"))
    assert (verdict.status, verdict.decision, verdict.score) == ("error", on_error, None)
    assert verdict.agent == "helper"
